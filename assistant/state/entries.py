"""What the user's state consists of."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

NO_WORDS = frozenset({"form", "title", "slot", "label", "asked", "read", "exchange"})
"""Keys of an entry's content whose texts are not the user's words, but ids or the names of forms
and slots."""


class EntryKind(StrEnum):
    """Items belong to a list, slots to a form, and lines to a task."""

    TIMER = "timer"
    ALARM = "alarm"
    REMINDER = "reminder"
    LIST = "list"
    ITEM = "item"
    NOTE = "note"
    FORM = "form"
    SLOT = "slot"
    TASK = "task"
    LINE = "line"
    VOICE = "voice"
    """How loud and how fast the assistant speaks."""


@dataclass(frozen=True, slots=True)
class Change:
    """An earlier content of an entry. `at` is when it was replaced, and `exchange` the id of the
    exchange whose words replaced it, or empty."""

    at: datetime
    exchange: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the user's state.

    `content` is JSON-compatible. The skill that owns the kind defines its keys. `parent` is the id
    of the entry that this one belongs to, or empty. Times are in UTC. `earlier` has the earlier
    contents, oldest first, if the entry was removed; otherwise `StateStore.changes` returns them.
    """

    id: str
    kind: EntryKind
    content: Mapping[str, Any]
    parent: str
    created: datetime
    changed: datetime
    earlier: tuple[Change, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts in the content that the user has said or written."""
        return tuple(texts_in(self.content))


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value that aren't blank, except for those under `NO_WORDS`."""
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in NO_WORDS:
                yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)


def content_of(text: str) -> Mapping[str, Any]:
    """Parse an entry's stored content. Text that isn't a JSON object must have been written by
    another program. It is returned under the key "unreadable", so that requests to forget can find
    it."""
    try:
        content = json.loads(text)
    except ValueError:
        content = text
    return content if isinstance(content, Mapping) else {"unreadable": content}
