"""Reads the value of a slot from words, and converts values to words.

A value is a string, a number, a bool or a list of strings. Dates are in ISO 8601, only as precise
as the words ("2026-11-17", "2026-03", "1980"); times of day are "HH:MM". English only.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from functools import cache
from typing import Final

from assistant.forms.amounts import read_number, spoken_value, unit_beside
from assistant.forms.dates import is_date, read_date, shown_date, spoken_date
from assistant.forms.definition import Slot, SlotType
from assistant.forms.wording import is_phrase, names_rank, plain, stripped
from assistant.language.clock_times import clock_time
from assistant.language.days import plain as in_one_spelling
from assistant.language.durations import seconds
from assistant.language.enumerations import joined, parts
from assistant.language.numbers import one_of
from assistant.language.second_person import spoken_topic
from assistant.language.spoken_times import spoken_clock

Value = str | float | bool | list[str]
UNKNOWN: Final = "unknown"
"""The value of a slot whose answer the user does not know, or does not want to give."""
LONGEST_TEXT = 300
"""Maximum number of characters of a text or of an item."""
MOST_ITEMS = 60
HOURS = re.compile(r"\bfrom (?!(?:a )?quarter\b).*\b(?:to|till?|until)\b", re.IGNORECASE)
"""Matches a range of hours ("from five to six"), but not a time ("from quarter to six")."""
POLITE = ("please", "thanks", "thank you")
"""Words that add nothing to "yes" and "no"."""
FIRST_HOUR = 7
"""An hour below this, said without "am", "in the morning" or the like, is in the afternoon."""


def read(slot: Slot, words: str, today: date) -> Value | None:
    """Read the words as the whole answer to the slot's question, as if they were typed into a form.
    Return None if they are not a value of the slot.

    Args:
        today: the local date on which the words were said.
    """
    if not words.strip() or len(words) > LONGEST_TEXT * 4:
        return None
    if says_unknown(words):
        return UNKNOWN
    match slot.type:
        case SlotType.NUMBER:
            return read_number(slot, words)
        case SlotType.DATE:
            return read_date(words, today, past=slot.past, with_year=slot.year)
        case SlotType.TIME:
            return _time(words)
        case SlotType.CHOICE:
            return _choice(slot, words)
        case SlotType.BOOL:
            return _bool(words)
        case SlotType.LIST:
            return _list(words)
    return words.strip()[:LONGEST_TEXT] or None


def says_unknown(words: str) -> bool:
    """Return whether the user says that they don't know, or don't want to say."""
    return is_phrase(words, "unknown")


@cache
def mentions(slot: Slot) -> re.Pattern[str]:
    """Return a pattern for words that refer to a slot: its label and its cues, in any grammatical
    form."""
    named = (slot.label.lower(), *map(str.lower, slot.cues))
    return re.compile(rf"\b{one_of(map(_forms, named))}\b")


def check_value(slot: Slot | None, value: object) -> None:
    """Raise ValueError if a stored value is not valid for the slot or, if `slot` is None, for any
    slot."""
    if isinstance(value, list):
        if not all(isinstance(each, str) for each in value):
            raise ValueError("the list contains an item that is not a string")
    elif not isinstance(value, str | int | float):
        raise ValueError("the value must be a string, a number, a boolean or a list")
    if slot is None or value == UNKNOWN:
        return
    fits = {
        SlotType.NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
        SlotType.BOOL: isinstance(value, bool),
        SlotType.LIST: isinstance(value, list),
        SlotType.DATE: isinstance(value, str) and is_date(value),
        SlotType.TIME: isinstance(value, str) and _is_time(value),
        SlotType.CHOICE: value in slot.choices,
        SlotType.TEXT: isinstance(value, str),
    }
    if not fits[slot.type]:
        raise ValueError(f"the value is not a valid {slot.type}")


def spoken(slot: Slot, value: Value, today: date) -> str:
    """Return a value as it is read out, as part of a sentence: "Tuesday, the tenth of November",
    "thirty-eight point five degrees", "milk and eggs", "not known"."""
    if value == UNKNOWN:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return joined([spoken_topic(each) for each in value]) if value else "none"
    if isinstance(value, int | float):
        return spoken_value(slot, value)
    if slot.type is SlotType.DATE:
        return spoken_date(value, today)
    if slot.type is SlotType.TIME:
        return _spoken_time(value)
    return spoken_topic(value)


def shown(slot: Slot, value: Value) -> str:
    """Return a value as it is written on the screen and in Markdown."""
    words = value_words(value)
    if slot.type is SlotType.DATE and isinstance(value, str) and value != UNKNOWN:
        return shown_date(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{words} {unit_beside(slot, value)}".strip()
    return words


# -- internals ----------------------------------------------------------------------------------


def _time(words: str) -> str | None:
    said = in_one_spelling(stripped(words))
    if seconds(said) is not None or names_rank(said) or HOURS.search(words):
        return None
    said = re.sub(r"\bexactly\b|(?<=\w)ish\b|\bish\b", " ", said)
    said = re.sub(r"\bfive and twenty\b", "twenty five", said)
    if said.endswith(" hundred"):
        said = f"{said.removeprefix('zero ').removeprefix('oh ')} hours"
    read_at = clock_time(" ".join(said.split()).removeprefix("at "))
    if read_at is None:
        return None
    at, exact = read_at
    if not exact and at.hour < FIRST_HOUR:
        at = at.replace(hour=at.hour + 12)
    return f"{at:%H:%M}"


def _is_time(value: str) -> bool:
    return re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d", value) is not None


def _spoken_time(value: str) -> str:
    at = datetime.combine(date(2000, 1, 1), time.fromisoformat(value))
    part = "" if at.hour in (0, 12) and not at.minute else _part_of(at.hour)
    return f"{spoken_clock(at)}{part}"


def _part_of(hour: int) -> str:
    if 7 <= hour < 12:
        return ""
    part = "morning" if hour < 12 else "afternoon" if hour < 18 else "evening"
    return f" in the {part}"


def _bool(words: str) -> bool | None:
    """Read "no", "no, I don't" and "no, thanks"."""
    first, _, more = plain(words).partition(" ")
    for answer in ("yes", "no"):
        twice = is_phrase(first, answer) and (more in POLITE or is_phrase(more, answer))
        if is_phrase(words, answer) or twice:
            return answer == "yes"
    return None


def _choice(slot: Slot, words: str) -> str | None:
    """Return the choice that the words name exactly, or the only choice that contains them."""
    said = plain(words)
    same = [each for each in slot.choices if plain(each) == said]
    near = [each for each in slot.choices if f" {said} " in f" {plain(each)} "]
    found = same or near
    return found[0] if len(found) == 1 else None


def _list(words: str) -> list[str] | None:
    if is_phrase(words, "none"):
        return []
    found = [each[:LONGEST_TEXT] for each in parts(words)]
    return list(dict.fromkeys(filter(None, found)))[:MOST_ITEMS] or None


def _forms(phrase: str) -> str:
    """Return a pattern for a phrase in any form of its last word: "smoke" also finds "smoking"."""
    *first, last = phrase.split()
    base = last.removesuffix("e")
    if last.endswith("y") and len(last) > 3:
        ending, base = "(?:y|ies|ied|ying)", last[:-1]
    elif len(last) > 3:
        ending = "(?:e|es|ed|er|ers|ing|s)?" if last.endswith("e") else "(?:e?s|ed|er|ers|ing)?"
    else:
        ending, base = "s?", last
    return " ".join([*map(re.escape, first), f"{re.escape(base)}{ending}"])


def value_words(value: Value) -> str:
    """Return a value as it is written, without regard to its slot."""
    if value == UNKNOWN:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) if value else "none"
    return f"{value:g}" if isinstance(value, int | float) else value


def same_value(first: Value, second: Value) -> bool:
    """Return whether two values are the same, apart from case in texts."""
    if isinstance(first, bool) is not isinstance(second, bool):
        return False
    if isinstance(first, list) and isinstance(second, list):
        return _folded(first) == _folded(second)
    if isinstance(first, str) and isinstance(second, str):
        return first.casefold() == second.casefold()
    return first == second


def _folded(items: Sequence[str]) -> list[str]:
    return [each.casefold() for each in items]
