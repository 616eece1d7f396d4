"""Times in words, as people say them: past and future times, and durations."""

from datetime import date, datetime, timedelta

from assistant.language.calendar import MONTHS, WEEKDAYS, relative_date
from assistant.language.numbers import ordinals
from assistant.language.repeats import Repeat
from assistant.language.spoken_numbers import whole_number

MOMENT = timedelta(minutes=10)
"""Something said less than this ago was said "a moment ago"."""
PARTS = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))
"""The hour at which each part of the day ends."""
SOON_S = 12 * 3600
"""A time that isn't on the minute is spoken as a duration if it is fewer seconds away than this."""
NEAR_DAYS = 7
"""For a day less than this far ahead, the name of the weekday is enough."""
FAR_DAYS = 300
"""A date more than this many days ahead is spoken with its year."""
DAY_S = 86400
HALVES = {1800: "half an hour", 3600: "an hour", 5400: "an hour and a half"}
"""Durations in seconds that have words of their own."""
UNITS = {"week": 7 * DAY_S, "day": DAY_S, "hour": 3600, "minute": 60, "second": 1}
MINUTES = {5: "five", 10: "ten", 15: "quarter", 20: "twenty", 25: "twenty-five", 30: "half"}
WORKDAYS = (0, 1, 2, 3, 4)


def briefly(when: datetime, now: datetime) -> str:
    """Return words for a time: "a moment ago", "earlier today", "on Monday", "on 14 October".

    Return an empty text if the time is in the future, because then a clock must have been wrong.

    Args:
        now: local wall time.
    """
    if _just_now(when, now):
        return "a moment ago"
    words = relative_date(when, now, exact=True)
    return "earlier today" if words == "today" else words.replace("last ", "on ")


def precisely(when: datetime, now: datetime) -> str:
    """Return the day and the part of the day: "this morning", "yesterday evening", "on Tuesday, 14
    October, in the afternoon".

    Args:
        now: local wall time.
    """
    if _just_now(when, now):
        return "a moment ago"
    local = when.astimezone(now.tzinfo)
    days = (now.date() - local.date()).days
    part = next(name for end, name in PARTS if local.hour < end)
    if days == 0:
        return f"this {part}" if part != "night" else "early today" if local.hour < 5 else "tonight"
    if days == 1 and (part != "night" or local.hour < 5):
        return f"yesterday {part}" if part != "night" else "early yesterday"
    if days == 1:
        return "last night"
    months = (now.year - local.year) * 12 + now.month - local.month
    year = f" {local.year}" if months > 10 else ""
    day = f"on {WEEKDAYS[local.weekday()]}, {local.day} {MONTHS[local.month - 1]}{year}"
    return f"{day}, {'at night' if part == 'night' else f'in the {part}'}"


def _just_now(when: datetime, now: datetime) -> bool:
    return timedelta(0) <= now - when < MOMENT


def spoken(when: datetime, now: datetime) -> str:
    """Return words for a future time: "at nine tomorrow", "on Friday at half past seven", "at ten
    tonight". A time that isn't on the minute usually results from a duration, so the words for it
    are "in twenty minutes" and the like.

    Args:
        when: local time.
        now: local time.
    """
    ahead = (when - now).total_seconds()
    if (when.second or when.microsecond) and 0 < ahead < SOON_S:
        return f"in {spoken_duration(ahead if ahead < 100 else 60 * round(ahead / 60))}"
    day, today, clock = when.date(), now.date(), f"at {spoken_clock(when)}"
    if clock == "at midnight":  # "at midnight on Friday" could be either end of that day
        day -= timedelta(days=1)
        if (day - today).days < NEAR_DAYS:
            return f"{clock} {_day(day, today, 'night')}"
        return f"{clock} at the end of {_day(day, today, '').removeprefix('on ')}"
    part = _marked_part(when)
    if (day - today).days < 2:
        named = _day(day, today, part)
        return f"{clock} {'this morning' if named == 'today' and when.hour < 12 else named}"
    if (day - today).days < NEAR_DAYS:
        return f"{_day(day, today, part)} {clock}"
    return f"{clock} {_in_part(part)}{_day(day, today, '')}"


def spoken_day(day: date, today: date) -> str:
    """Return "today", "tomorrow", "on Friday", or "on Friday, the third of March"; with the year if
    it is far away."""
    return _day(day, today, "")


def spoken_clock(when: datetime) -> str:
    """Return the time on a 12-hour clock: "half past seven", "noon", "seven oh four"."""
    hour, minute = when.hour, when.minute
    if minute == 0 and hour in (0, 12):
        return "noon" if hour else "midnight"
    following = whole_number((hour + 1) % 12 or 12)
    this = whole_number(hour % 12 or 12)
    if minute == 0:
        return this
    if minute % 5:
        return f"{this} {'oh ' if minute < 10 else ''}{whole_number(minute)}"
    past, to = (MINUTES.get(each, "") for each in (minute, 60 - minute))
    return f"{past} past {this}" if minute <= 30 else f"{to} to {following}"


def spoken_duration(seconds: float) -> str:
    """Return a duration: "half an hour", "an hour and a half", "one minute and ten seconds". Small
    units are left out of long durations."""
    left = max(1, round(seconds))
    if left >= DAY_S:
        left = round(left / 3600) * 3600
    elif left >= 3600:
        left = round(left / 60) * 60
    if left in HALVES:
        return HALVES[left]
    if left > 3600 and left % 3600 == 1800 and left < DAY_S:
        return f"{whole_number(left // 3600)} and a half hours"
    parts = []
    for unit, size in UNITS.items():
        if unit == "week" and left % size:  # "ten days", not "one week and three days"
            continue
        number, left = divmod(left, size)
        if number:
            parts.append(f"{whole_number(number)} {unit}{'s' * (number > 1)}")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def spoken_repeat(repeat: Repeat, local: datetime) -> str:
    """Return a repetition: "every weekday at half past six", "every two hours", "on the first of
    every month at nine".

    Args:
        local: local time of the first occurrence.
    """
    if repeat.unit in ("minute", "hour"):
        return _every(repeat.every, repeat.unit)
    if repeat.unit == "month":
        which = f"on the {_which(repeat, local)}"
        months = _every(repeat.every, "month")
        days = f"{which} of {months}" if repeat.every == 1 else f"{months} {which}"
    elif repeat.unit == "year":
        day = f"on the {ordinal_words_of(repeat.day or local.day)} of {MONTHS[local.month - 1]}"
        days = f"{_every(repeat.every, 'year')} {day}"
    elif repeat.unit == "week":
        days = _on_weekdays(repeat, local)
    else:
        days = _every(repeat.every, "day")
    clock = spoken_clock(local)
    part = _marked_part(local)
    return f"{days} at {clock} {_in_part(part)}".strip()


def ordinal_words_of(number: int) -> str:
    """Return the word for a day of the month: "first", "twenty-third"."""
    words = {value: word for word, value in ordinals().items()}
    if number in words:
        return words[number]
    return f"{whole_number(number - number % 10)}-{words[number % 10]}"


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {whole_number(count)} {unit}s"


def _on_weekdays(repeat: Repeat, local: datetime) -> str:
    days = repeat.weekdays or (local.weekday(),)
    if repeat.every == 1 and days in (WORKDAYS, tuple(range(7))):
        return "every weekday" if days == WORKDAYS else "every day"
    names = [WEEKDAYS[day] for day in days]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    if repeat.every <= 2:
        return f"every {'other ' * (repeat.every == 2)}{listed}"
    return f"on {listed} {_every(repeat.every, 'week')}"


def _which(repeat: Repeat, local: datetime) -> str:
    """Return which day of a month: "last Friday", "last day", "third"."""
    if repeat.nth:
        nth = "last" if repeat.nth < 0 else ordinal_words_of(repeat.nth)
        return f"{nth} {WEEKDAYS[repeat.weekdays[0]]}"
    day = repeat.day or local.day
    return "last day" if day == 31 else ordinal_words_of(day)


def _marked_part(when: datetime) -> str:
    """Return the part of the day if the hour alone would leave it unclear, otherwise an empty text.
    The hours after midnight count as morning."""
    if 7 <= when.hour < 12 or (when.hour in (0, 12) and when.minute == 0):
        return ""
    return "morning" if when.hour < 12 else next(name for end, name in PARTS if when.hour < end)


def _day(day: date, today: date, part: str) -> str:
    """Return words for a future day and the part of the day."""
    days = (day - today).days
    if days == 0:
        return ("tonight" if part == "night" else f"this {part}") if part else "today"
    if days == 1:
        return f"tomorrow {part}".strip()
    name = f"on {WEEKDAYS[day.weekday()]}"
    if 1 < days < NEAR_DAYS:
        return f"{name} {part}".strip()
    year = f" {day.year}" if days > FAR_DAYS else ""
    return f"{name}, the {ordinal_words_of(day.day)} of {MONTHS[day.month - 1]}{year}"


def _in_part(part: str) -> str:
    return {"": "", "night": "at night "}.get(part, f"in the {part} ")
