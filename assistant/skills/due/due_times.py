"""Computes when an entry is due from its content. The screen uses this module too, so it imports no
store. `due_entries` describes the contents."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from assistant.language.repeats import Repeat, occurrence
from assistant.memory import time_of

Content = Mapping[str, Any]
_LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)


def due_at(content: Content, zone: tzinfo | None) -> datetime | None:
    """Return when an entry with this content is due, in UTC. Return None if it is paused or over.

    Args:
        zone: the user's zone; None for the machine's.
    """
    if "snoozed_until" in content:
        return time_of(content["snoozed_until"])
    if "repeat" in content:
        repeat, since = Repeat.from_json(content["repeat"]), time_of(content["since"])
        return occurrence(datetime.fromisoformat(content["local"]), repeat, since, zone)
    if "rang_at" in content:
        return None
    if "local" in content:
        return occurrence(datetime.fromisoformat(content["local"]), None, _LONG_AGO, zone)
    moment = content.get("ends_at", content.get("at"))
    return None if moment is None else time_of(moment)


def is_over(content: Content) -> bool:
    """Whether an entry with this content has rung and won't ring again."""
    again = content.keys() & {"repeat", "snoozed_until"}
    return "rang_at" in content and not again
