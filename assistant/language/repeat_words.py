"""Reads repetitions by the calendar: "every weekday", "on Mondays", "the first of every month"."""

import re

from assistant.language.calendar import WEEKDAYS
from assistant.language.days import DAYS, FEAST, MONTH, Phrase
from assistant.language.repeats import Repeat, Unit

WORKDAYS, WEEKEND = (0, 1, 2, 3, 4), (5, 6)
PARTS = "morning|afternoon|evening|night"
_EVERY = r"(?:every|each)(?: single)?"
_COUNT = r"(?:(?P<count>\d+|other|alternate) )?"
_LIST = rf"(?:{DAYS})s?(?:(?: and| {_EVERY}| on|) (?:{DAYS})s?)*"
_UNITS: dict[str, tuple[int, Unit]] = {
    "day": (1, "day"), "daily": (1, "day"), "nightly": (1, "day"), "week": (1, "week"),
    "weekly": (1, "week"), "fortnight": (2, "week"), "fortnightly": (2, "week"),
    "month": (1, "month"), "monthly": (1, "month"), "quarter": (3, "month"),
    "quarterly": (3, "month"), "year": (1, "year"), "yearly": (1, "year"),
    "annually": (1, "year"),
}  # fmt: skip


def take_repeat(phrase: Phrase) -> Repeat | None:
    """Take out the words for a repetition, and return the repetition. Its first occurrence decides
    what the words leave open, e.g. the weekday."""
    for take in (_in_month, _range, _on_weekdays, _plain_unit):
        if (found := take(phrase)) is not None:
            return found
    return None


def _in_month(phrase: Phrase) -> Repeat | None:
    """Read "the first of every month" and "the last Friday of the month"."""
    which = rf"(?P<nth>[1-4]|last) (?P<weekday>{DAYS})"
    found = (
        phrase.take(rf"(?:on )?(?:the )?{which} (?:(?:of|in) )?{_EVERY} month")
        or phrase.take(rf"{_EVERY} (?:month(?: on)? the )?{which} (?:of|in) (?:the|{_EVERY}) month")
        or phrase.take(rf"{_EVERY} month(?: on)? the {which}")
        or phrase.take(rf"{_EVERY} {which.replace('[1-4]', '1')}")
    )
    if found:
        nth = -1 if found["nth"] == "last" else int(found["nth"])
        return Repeat(1, "month", (_number(found["weekday"]),), nth=nth)
    found = phrase.take(
        rf"(?:on )?(?:the )?(?P<day>\d\d?|last day|end|last) of {_EVERY} month"
        rf"|{_EVERY} month(?: on)? the (?P<later>\d\d?|last day|end)(?! (?:past|to|minutes)\b)"
        rf"|{_EVERY} (?P<nth>\d\d?) of the month"
    )
    if found is None:
        return None
    day = found["day"] or found["later"] or found["nth"]
    number = int(day) if day.isdigit() else 31
    return Repeat(1, "month", day=number) if 1 <= number <= 31 else None


def _range(phrase: Phrase) -> Repeat | None:
    """Read "Monday to Friday"."""
    found = phrase.take(
        rf"(?:(?:on|from|{_EVERY}) )?(?P<first>{DAYS})s? "
        rf"(?:to|through|thru|till|until) (?P<last>{DAYS})s?"
    )
    if found is None:
        return None
    first, last = _number(found["first"]), _number(found["last"])
    days = [(first + step) % 7 for step in range((last - first) % 7 + 1)]
    return Repeat(1, "week", tuple(sorted(days)))


def _on_weekdays(phrase: Phrase) -> Repeat | None:
    workday = "(?:week ?|work ?|working |school )day"
    if phrase.take(rf"(?:on )?(?:{_EVERY} {workday}s?|(?:the )?{workday}s)"):
        return Repeat(1, "week", WORKDAYS)
    if phrase.take(rf"(?:on |at )?{_EVERY} weekend|(?:on |at )?(?:the )?weekends"):
        return Repeat(1, "week", WEEKEND)
    if found := phrase.take(rf"(?:on )?(?:{workday}|weekend) (?P<part>{PARTS})s"):
        phrase.left += f" | {found['part']}"
        return Repeat(1, "week", WEEKEND if "weekend" in found[0] else WORKDAYS)
    found = (
        phrase.take(rf"(?:on )?{_EVERY} (?:(?P<count>2|other|alternate) )?(?P<days>{_LIST})")
        or phrase.take(
            rf"(?:on )?(?P<count>)(?P<days>(?:{DAYS})s(?:(?: and)? (?:on )?(?:{DAYS})s)*)"
        )
        or phrase.take(
            rf"(?:on )?(?P<count>)(?P<days>(?:{DAYS})(?:(?: and)? (?:on )?(?:{DAYS}))*)"
            rf"(?= (?:{PARTS})s)"
        )
    )
    if found is None:
        return None
    return Repeat(_every(found["count"]), "week", _numbers(found["days"]))


def _plain_unit(phrase: Phrase) -> Repeat | None:
    if phrase.take(rf"{_EVERY}(?= (?:the )?(?:\d\d? (?:of )?(?:{MONTH})|(?:{MONTH}) \d|{FEAST}))"):
        return Repeat(1, "year")
    found = phrase.take(rf"(?:on )?{_EVERY} (?P<part>{PARTS})") or phrase.take(
        rf"(?:in the |at )?(?P<part>{PARTS})s"
    )
    if found:
        phrase.left += f" | {found['part']}"
        return Repeat(1, "day")
    units = "day|week|fortnight|month|quarter|year"
    found = phrase.take(
        rf"{_EVERY} {_COUNT}(?P<unit>{units})s?|(?:once|1) (?:a|per|every) (?P<once>{units})"
        r"|(?P<adverb>daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually)"
    )
    if found is None:
        return None
    times, unit = _UNITS[found["unit"] or found["once"] or found["adverb"]]
    if found["adverb"] == "nightly":
        phrase.left += " | night"
    listed = phrase.take(rf"(?:on )?(?:{_LIST})") if unit == "week" else None
    return Repeat(times * _every(found["count"]), unit, _numbers(listed[0]) if listed else ())


def _every(count: str | None) -> int:
    return int(count) if count and count.isdigit() else 2 if count else 1


def _number(weekday: str) -> int:
    return [name.lower() for name in WEEKDAYS].index(weekday)


def _numbers(weekdays: str) -> tuple[int, ...]:
    return tuple(sorted({_number(each) for each in re.findall(DAYS, weekdays)}))
