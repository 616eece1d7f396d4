"""Converts memories to and from JSON, for exports and imports."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.stored_values import microseconds

FIELDS = tuple(field.name for field in fields(Memory))
TIMES = frozenset({"created", "last_used", "expires", "refreshed"})
LISTS = frozenset({"sources", "supersedes"})
NUMBERS = frozenset({"importance", "confidence"})
COUNTS = frozenset({"uses", "feedback"})
FLAGS = frozenset({"pinned", "never_recall", "separate"})
NEEDED = ("id", "user_id", "kind", "text", "created")
"""Fields that an imported row must have, because they have no default."""


def to_json(memory: Memory) -> dict[str, Any]:
    """Return a memory's fields as JSON-compatible values. Times are ISO texts in UTC with
    microseconds."""
    plain = asdict(memory)
    for name in TIMES:
        if plain[name] is not None:
            plain[name] = plain[name].astimezone(UTC).isoformat(timespec="microseconds")
    return plain | {name: list(plain[name]) for name in LISTS} | {"kind": memory.kind.value}


def from_json(row: Mapping[str, Any]) -> Memory:
    """Return the memory that a row written by `to_json` describes. Fields with a default may be
    missing.

    Raises:
        ValueError: a field is missing, unknown or of the wrong type.
    """
    if unknown := sorted(set(row) - set(FIELDS)):
        raise ValueError(f"there is no field `{unknown[0]}`")
    if missing := [name for name in NEEDED if name not in row]:
        raise ValueError(f"the field `{missing[0]}` is missing")
    return Memory(**{name: _imported(name, value) for name, value in row.items()})


def _imported(name: str, value: Any) -> Any:
    if value is None and name in ("last_used", "expires", "superseded_by", "refreshed"):
        return None
    if name in LISTS and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    if name in NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if name in COUNTS and isinstance(value, int) and not isinstance(value, bool):
        return value
    if name in FLAGS and isinstance(value, bool):
        return value
    if isinstance(value, str) and name not in LISTS | NUMBERS | COUNTS | FLAGS:
        if name in TIMES:
            moment = datetime.fromisoformat(value)
            microseconds(moment)
            return moment
        return MemoryKind(value) if name == "kind" else value
    raise ValueError(f"the field `{name}` can't be {value!r:.40}")
