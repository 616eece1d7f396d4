"""Converts the words that name a period in the past: "the last ten minutes", "since lunch",
"yesterday evening", "between two and three", "last week".

English only. Days, durations and times of day are read by modules of `assistant.language`. Anything
else ("while the plumber was here") is not read as a period, because what to delete must not be
guessed.
"""

import re
from datetime import date, datetime, time, timedelta

from assistant.intents.command_text import CommandText
from assistant.intents.grammar import language
from assistant.language.calendar import WEEKDAYS, Period
from assistant.language.clock_times import clock_time
from assistant.language.time_expressions import find_time_expressions

MOMENT = timedelta(microseconds=1)
"""The smallest difference between two times. A day ends this much before the next one begins."""
HALF_DAY = timedelta(hours=12)
MEALS = {"breakfast": 7, "lunch": 12, "tea": 17, "dinner": 18, "supper": 18}
"""The hour at which a meal usually begins. "Since lunch" includes the meal, because it is better to
offer too much for deletion than to keep what should be forgotten."""
MEAL_H = 2
"""Number of hours that a meal takes."""
PARTS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""The hours of each part of a day. A night ends at six on the next day."""
LATE_H = 22
"""From this hour on, "the night" means the night that is beginning, not the previous one."""
TODAY = {"this", "the", "today", "todays", ""}

_FILLERS = re.compile(
    r"\b(?:like|what|about|around|roughly|whole|entire|complete|full|all of|all|exactly|very)\b"
)
_LAST = re.compile(
    r"(?:(?:in|for|from|over|during|of|within) )?(?:(?:the|these|this|those|my|our|your)\b ?)?"
    r"(?P<way>last|past|passed|previous)? ?(?P<time>.+?)"
    r"(?: or so| ago| just now| back to now| before now| up to now| until now| till now)*"
)
_BETWEEN = re.compile(r"(?:between (.+) and (.+)|from (.+) (?:to|till|until) (.+))")
_OPEN = re.compile(
    r"(?:(?:ever )?since|after|back to|from(?= .* (?:on|onward|onwards)$)) (.+?)"
    r"(?: (?:on|onward|onwards))?(?: (?:until|till|to) (?:right )?now)?"
)
_BEFORE = re.compile(r"(?:before|until|till|up to) (.+)")
_NOW = re.compile(r"(?:right )?now|just now")
_PART = re.compile(
    r"(?:(?:in|during|over|on|for|from|at|of) )*"
    r"(?P<day>this|last|the|yesterdays?|todays?|(?:(?:last|this|on) )?(?:"
    + "|".join(name.lower() for name in WEEKDAYS)
    + r")s?)? ?(?P<part>morning|afternoon|evening|night)"
)
_HALF = re.compile(
    r"(?:am|pm|a m|p m|(?:in the|this) (?:morning|afternoon|evening)|at night|tonight)$"
)
_WEEKEND = re.compile(r"(?:(?:over|on|at|during|for|from|of) )?(?:the )?weekend")
_TOLD = "I told you"
"""Prefix for the words, so that "on Friday" is read as a day in the past."""
_IDLE = frozenset(["on", "in", "at", "from", "of", "over", "during", "for", "the", "month", "day"])


def period(words: str, now: datetime) -> Period | None:
    """Return the period that `words` name, or None if they can't be read.

    The period never reaches beyond `now`. If a time is ambiguous ("three o'clock"), the latest one
    that has passed is meant.
    """
    local = now.astimezone()
    said = _plain(words)
    found = _recent(said, local) or _bounded(said, local) or _named(said, local)
    if found is None or found.since >= local:
        return None
    until = min(found.until, local)
    return Period(found.since, until, found.days or until - found.since >= 2 * HALF_DAY)


def _plain(words: str) -> str:
    """Return the words in lower case, without punctuation and hesitations, and with common
    recognition errors corrected."""
    said = CommandText(words.replace(":", " "), language("en"))
    text = " ".join(word.plain for word in said.words)
    return " ".join(_FILLERS.sub(" ", text).split())


def _recent(said: str, now: datetime) -> Period | None:
    """Read "the last ten minutes", "ten minutes ago" or "half an hour". "Last week", without "the",
    is a week of the calendar and not a duration."""
    found = _LAST.fullmatch(said)
    if found is None or re.match(r"last (?:week|month|year|night|weekend)\b", said):
        return None
    minutes = language("en").durations.minutes(found["time"])
    ahead = said.startswith("in ") or _one_unit(found["time"])  # "in two weeks", "the day"
    if minutes is None or (found["way"] is None and ahead):
        return None
    return Period.last(minutes, now)


def _one_unit(said: str) -> bool:
    """Return whether the words are a unit without a count: "the day", "the hour"."""
    return said in language("en").durations.units


def _bounded(said: str, now: datetime) -> Period | None:
    """Read a period that is given by its beginning or its end: "since lunch", "between two and
    three", "before nine"."""
    if found := _OPEN.fullmatch(said):
        begin = _start(found[1], now)
        return Period(begin.since, now, begin.days) if begin else None
    if found := _BEFORE.fullmatch(said):
        end = _start(found[1], now)
        return Period(_midnight(end.since.date()), end.since - MOMENT) if end else None
    if found := _BETWEEN.fullmatch(said):
        first, last = found[1] or found[3], found[2] or found[4]
        half = _HALF.search(last)
        same = f"{first} {half[0]}" if half else first
        begin = _start(same, now) or _start(first, now)
        if begin is None or _NOW.fullmatch(last):
            return Period(begin.since, now, begin.days) if begin else None
        return _until(begin, last, now)
    return None


def _until(begin: Period, last: str, now: datetime) -> Period | None:
    """Return the period from `begin` to the time or the day that `last` names."""
    clock = clock_time(last)
    if clock is not None:
        shown = begin.since.astimezone().replace(tzinfo=None)
        end = shown.replace(hour=clock[0].hour, minute=clock[0].minute)
        while end <= shown:
            end += timedelta(days=1) if clock[1] else HALF_DAY
        return Period(begin.since, end.astimezone(), begin.days)
    named = _named(last, now)
    return Period(begin.since, named.until, days=True) if named and begin.days else None


def _start(said: str, now: datetime) -> Period | None:
    """Read the beginning of a period: a time of day, a meal, or another period."""
    meal = re.sub(r"^(?:the|my) | ?time$", "", said)
    if meal in MEALS:
        at = _latest(time(MEALS[meal]), now, exact=True)
        return Period(at, at)
    clock = clock_time(said)
    if clock is not None:
        at = _latest(*clock[:1], now, exact=clock[1])
        return Period(at, at)
    return _recent(said, now) or _named(said, now)


def _latest(at: time, now: datetime, *, exact: bool) -> datetime:
    """Return the latest moment before `now` at which the clock showed `at`. Unless `exact`, `at`
    may be in the morning or in the evening."""
    shown = now.replace(tzinfo=None)  # the UTC offset may have changed since then
    moment = datetime.combine(shown.date() + timedelta(days=1), at)
    while moment >= shown:
        moment -= timedelta(days=1) if exact else HALF_DAY
    return moment.astimezone()


def _named(said: str, now: datetime) -> Period | None:
    """Read a day, several days, a part of a day or a meal."""
    meal = re.fullmatch(r"(?:at|during|over) (?:the |my )?(\w+)", said)
    if meal and meal[1] in MEALS:
        begin = _latest(time(MEALS[meal[1]]), now, exact=True)
        return Period(begin, begin + timedelta(hours=MEAL_H))
    said = re.sub(r"\btonight\b", "this evening", said)
    part = _PART.fullmatch(said)
    if part is None:
        return _days(said, now)
    day = _day_of(part["day"] or "", part["part"], now)
    if day is None:
        return None
    first, last = PARTS[part["part"]]
    return Period(_at(day, first), _at(day, last) - MOMENT)


def _day_of(word: str, part: str, now: datetime) -> date | None:
    """Return the day that is meant by the word before a part of a day: "this", "last", "friday"."""
    yesterday = now.date() - timedelta(days=1)
    if word in TODAY:
        begun = LATE_H if part == "night" else PARTS[part][0]
        return now.date() if now.hour >= begun else yesterday
    if word == "last" or word.startswith("yesterday"):
        return yesterday
    named = _days(word.removesuffix("s"), now)
    return named.since.date() if named else None


def _days(said: str, now: datetime) -> Period | None:
    """Read one or several days. If two readings are possible, the later one counts."""
    said = re.sub(r"^(?:the )?month of ", "", said)
    if _WEEKEND.fullmatch(said):
        said = "this weekend" if now.weekday() >= 5 else "last weekend"
    names = [name.lower() for name in WEEKDAYS]
    said = " ".join(f"on {word}" if word in names else word for word in said.split())
    said = re.sub(r"\b(on|last|this|past|next) on\b", r"\1", said)
    for text in (said, f"in {said}", f"at {said}"):
        found = find_time_expressions(f"{_TOLD} {text}", now.date())
        spans = [span for span in found.spans if span.first <= now.date()]
        rest = found.rest.lower().removeprefix(_TOLD.lower())
        if spans and _IDLE.issuperset(re.findall(r"[\w']+", rest)):
            span = max(spans, key=lambda each: each.first)
            return Period(
                _midnight(span.first), _midnight(span.last + timedelta(days=1)) - MOMENT, days=True
            )
    return None


def _midnight(day: date) -> datetime:
    """Return the time at which the local day began."""
    return _at(day, 0)


def _at(day: date, hour: int) -> datetime:
    """Return the time at which the local clock showed an hour, with the UTC offset of that time.
    The offset may have changed since then, even on the same day.

    Args:
        hour: 24 or more means the next day.
    """
    return datetime.combine(day + timedelta(days=hour // 24), time(hour % 24)).astimezone()
