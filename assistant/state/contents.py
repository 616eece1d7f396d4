"""Checks that an entry's content has what the skills need."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from assistant.language.repeats import Repeat
from assistant.memory import time_of
from assistant.state.entries import EntryKind

Content = Mapping[str, Any]
NAMES_AND_TEXTS = (
    *("name", "words", "text"),
    *("form", "title", "asked", "read", "slot", "label", "said", "exchange"),
)
TASK_MOMENTS = ("opened", "used_at", "closed_at", "asked_at", "said_at")
MOMENTS = ("ends_at", "at", "since", "rang_at", "snoozed_until")
NEEDED: Mapping[EntryKind, tuple[str, ...]] = {
    EntryKind.TIMER: ("name", "length_s"),
    EntryKind.REMINDER: ("words",),
    EntryKind.LIST: ("name",),
    EntryKind.ITEM: ("text", "done"),
    EntryKind.NOTE: ("text",),
    EntryKind.VOICE: ("volume_db", "speed"),
    EntryKind.FORM: ("form", "title", "opened"),
    EntryKind.SLOT: ("slot", "label", "value"),
    EntryKind.TASK: ("name", "opened", "used_at"),
    EntryKind.LINE: ("text", "said_at", "exchange"),
}
"""The fields that each kind must have."""
WHEN_DUE: Mapping[EntryKind, tuple[str, ...]] = {
    EntryKind.TIMER: ("ends_at", "left_s"),
    EntryKind.ALARM: ("at", "local"),
    EntryKind.REMINDER: ("at", "local"),
}
"""Fields that say when an entry is due; these kinds need at least one of them."""
MOST_S = 1e10
"""Maximum length of a timer in seconds. The end of a much longer timer could be out of range for
`datetime`."""
MOST_NUMBER = 1e15
"""Numbers in slots must be smaller than this, so that they can be spoken."""
LAST_YEAR = 9000
"""Latest year of a moment. In another time zone, much later moments could be out of range for
`datetime`."""


def check_content(kind: EntryKind, content: Content) -> None:
    """Raise ValueError if a skill could not read this content. The message quotes none of it."""
    for key in NEEDED.get(kind, ()):
        if key not in content:
            raise ValueError(f"the field `{key}` is missing")
    if not all(isinstance(content.get(key, ""), str) for key in NAMES_AND_TEXTS):
        raise ValueError("a name or text field is not a string")
    for key in ("done", "closed"):
        if not isinstance(content.get(key, False), bool):
            raise ValueError(f"the field `{key}` is neither true nor false")
    for key in ("volume_db", "speed"):
        if not _is_number(content.get(key, 0)):
            raise ValueError(f"the field `{key}` is not a number")
    if kind is EntryKind.FORM and not _is_moment(content["opened"]):
        raise ValueError("the field `opened` is not a moment")
    if kind is EntryKind.SLOT and not _is_value(content["value"]):
        raise ValueError("the field `value` is not a value of a slot")
    if kind in (EntryKind.TASK, EntryKind.LINE):
        _check_moments(content, TASK_MOMENTS)
    if kind in WHEN_DUE:
        _check_times(content, WHEN_DUE[kind])


def _check_times(content: Content, either: tuple[str, ...]) -> None:
    if not any(key in content for key in either):
        raise ValueError(f"the field `{either[0]}` or `{either[1]}` is missing")
    for key in ("length_s", "left_s"):
        if not _is_number(content.get(key, 0)) or not 0 <= content.get(key, 0) <= MOST_S:
            raise ValueError(f"the field `{key}` is not a usable number of seconds")
    _check_moments(content, MOMENTS)
    if "local" in content and not _is_local(content["local"]):
        raise ValueError("the field `local` is not a local time")
    if "repeat" in content:
        if not content.keys() >= {"local", "since"}:
            raise ValueError("a repetition needs the fields `local` and `since`")
        if not _is_repeat(content["repeat"]):
            raise ValueError("the field `repeat` is not a repetition")


def _check_moments(content: Content, keys: Iterable[str]) -> None:
    for key in keys:
        if key in content and not _is_moment(content[key]):
            raise ValueError(f"the field `{key}` is not a moment")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_value(value: object) -> bool:
    """Whether some type of slot allows this value."""
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) < MOST_NUMBER)


def _is_moment(value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    try:
        return time_of(value).year <= LAST_YEAR
    except OverflowError:
        return False


def _is_local(value: object) -> bool:
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return read is not None and read.tzinfo is None and read.year <= LAST_YEAR


def _is_repeat(value: object) -> bool:
    try:
        read = Repeat.from_json(value) if isinstance(value, Mapping) else None
    except (KeyError, TypeError, ValueError):
        return False
    if read is None or not all(
        isinstance(each, int) for each in (read.every, *read.weekdays, read.day, read.nth)
    ):
        return False
    in_week = all(0 <= each < 7 for each in read.weekdays)
    counted = read.nth == 0 or (bool(read.weekdays) and read.nth in (-1, 1, 2, 3, 4))
    return in_week and counted and 0 <= read.day <= 31
