"""Reads the value of a slot from words, and puts it into words.

A value is a text, a number, a bool or a list of texts. Dates are in ISO 8601, with as much
precision as was said ("2026-11-17", "2026-03", "1980"); times of day are "HH:MM". English only.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from functools import cache
from typing import Final

from assistant.forms.amounts import read_number, spoken_value, unit_beside
from assistant.forms.dates import is_date, read_date, shown_date, spoken_date
from assistant.forms.definition import Slot, SlotType
from assistant.forms.wording import begins_with, is_phrase, plain, stripped, without_lead
from assistant.language.clock_times import clock_time
from assistant.language.days import plain as in_one_spelling
from assistant.language.enumerations import joined, parts
from assistant.language.numbers import one_of
from assistant.language.second_person import spoken_topic
from assistant.language.spoken_times import spoken_clock
from assistant.language.word_lists import language_data

Value = str | float | bool | list[str]
UNKNOWN: Final = "unknown"
"""The value of a slot that the user does not know, or does not want to tell."""
NONE: Final[tuple[str, ...]] = ()
"""The items of a list slot if the user says that there are none; the value is an empty list."""
LONGEST_TEXT = 300
"""Maximum number of characters of a text or of an item."""
MOST_ITEMS = 60
FIRST_HOUR = 7
"""An hour before this, without a half of the day, is in the afternoon."""
_NEGATED = re.compile(r"\b(?:not|no|never|nor|neither|without|\w+n't)\b")
_OVER = re.compile(r"\b(?:quit|stopped|gave up|given up|used to)\b")
"""Words for what is no longer so."""
_STOPPED = re.compile(r"(?:no )?not (?:since|for (?:\w+ )?years|any longer)\b")
_RESUMED = re.compile(r"(?:wait|hang on|hold on|sorry|actually|make|i mean|that's)\b")
"""What follows a "no" that corrects something."""


def read(slot: Slot, words: str, today: date) -> Value | None:
    """Return the value that the words give, or None if they are no value of the slot. The whole of
    the words is read, apart from fillers.

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
            return _bool(slot, words)
        case SlotType.LIST:
            return _list(slot, words)
    text = without_lead(words, "before_text")[:LONGEST_TEXT].strip()
    return text or None


def says_unknown(words: str) -> bool:
    """Return whether the user says that they don't know, or don't want to say."""
    return is_phrase(words, "unknown")


def says_none(slot: Slot, words: str) -> bool:
    """Return whether the user says that there is nothing to put on a list."""
    return is_phrase(words, "none") or _none(slot).fullmatch(plain(stripped(words))) is not None


@cache
def _none(slot: Slot) -> re.Pattern[str]:
    """Return a pattern for "no allergies", "I don't take any medicine" and the like."""
    named = mentions(slot).pattern
    has = r"(?:i )?(?:don't|do not|haven't|have|haven't got|have got|am|'m)"
    verb = r"(?:take|have|need|use|got|on|taking|know of)?"
    none = r"(?:no|any|not any|anything|nothing)"
    return re.compile(
        rf"no {named}(?: (?:at all|that i know of))?"
        rf"|{has} {verb} ?{none}(?: {named})?(?: at all| either)?"
        rf"|(?:i'm |i am )?not {named}(?: to)? (?:anything|any)"
        r"|i (?:don't|do not) \w+ (?:any|anything)(?: at all| regularly)?"
    )


@cache
def mentions(slot: Slot) -> re.Pattern[str]:
    """Return a pattern for the words that show that the user speaks of a slot: its label and its
    cues, in any form of theirs."""
    named = (slot.label.lower(), *map(str.lower, slot.cues))
    return re.compile(rf"\b{one_of(map(_forms, named))}\b")


@cache
def label_is(slot: Slot) -> re.Pattern[str]:
    """Return a pattern for words that introduce a slot's value by its label: "the day is"."""
    label = re.escape(slot.label)
    verb = r"(?:\s+(?:is|are|was|will be|should be|would be|to|at)|\s*[:=])\s+"
    return re.compile(rf"\b(?:the |my |our )?{label}{verb}", re.IGNORECASE)


def check_value(slot: Slot | None, value: object) -> None:
    """Raise ValueError if a stored value is none of the slot, or, without a slot, of any."""
    if isinstance(value, list):
        if not all(isinstance(each, str) for each in value):
            raise ValueError("a list has an item that is not a text")
    elif not isinstance(value, str | int | float):
        raise ValueError("the value is neither a text, a number, true or false, nor a list")
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
        raise ValueError(f"the value is no {slot.type}")


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
    said = in_one_spelling(stripped(words, "around_time"))
    said = re.sub(r"\bexactly\b|\bish\b", " ", said)
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


def _bool(slot: Slot, words: str) -> bool | None:
    for answer, name in ((False, "no"), (True, "yes")):
        if is_phrase(words, name):
            return answer
    if _STOPPED.match(plain(words)):
        return False
    for answer, name in ((False, "no"), (True, "yes")):
        if begins_with(words, name):
            if _RESUMED.match(plain(stripped(words).partition(",")[2])):
                return None
            rest = _NEGATED.search(plain(stripped(words).partition(",")[2]))
            return answer if not (answer and rest) else None
    said = plain(words)
    if not mentions(slot).search(said):
        return None
    return _NEGATED.search(said) is None and _OVER.search(said) is None


def _choice(slot: Slot, words: str) -> str | None:
    said = plain(words)
    if _NEGATED.search(said):
        return None
    meant = [each for each in slot.choices if choice_words(each).search(said)]
    if len(meant) != 1:
        return None
    left = choice_words(meant[0]).sub(" ", said)
    return meant[0] if not stripped(" ".join(left.split()), "around_choice") else None


@cache
def choice_words(choice: str) -> re.Pattern[str]:
    """Return a pattern for the words that mean a choice: its own, and those of like meaning."""
    own = plain(choice)
    meanings = language_data("en")["forms"]["meanings"]
    same = [word for head, more in meanings.items() if head in own.split() for word in more.split()]
    return re.compile(rf"\b{one_of((*map(re.escape, same), _forms(own)))}\b")


def _list(slot: Slot, words: str) -> list[str] | None:
    if says_none(slot, words):
        return []
    found = [each[:LONGEST_TEXT] for each in parts(without_lead(words, "before_list"))]
    found = [without_lead(each, "before_list") for each in found]
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
    """Return a value as it is written if its slot is not known."""
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
