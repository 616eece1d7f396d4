"""The user's and the assistant's texts in recorded events."""

from collections.abc import Iterator
from typing import Any

from assistant.ipc import Row

FIXED = frozenset({"type", "phase", "severity"})
"""Fields of events whose values are fixed words of the program, not user text."""


def texts_of(row: Row) -> list[str]:
    """Return every text in an event, except the program's fixed words."""
    return list(_texts(row["event"]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in FIXED:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
