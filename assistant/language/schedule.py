"""Parses spoken due times such as "tomorrow at nine", "in twenty minutes" or "6:30 every weekday".

English only. The result is None if the words can't be read completely or have two likely meanings;
the user is then asked. A time such as "seven" or a day such as "Friday" means the next one to come.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import islice

from assistant.language.clock_times import clock_time
from assistant.language.days import MOST_DAYS, Phrase, as_digits, plain, take_day
from assistant.language.durations import seconds
from assistant.language.repeat_words import take_repeat
from assistant.language.repeats import Repeat, dates

PARTS = {"morning": 9, "noon": 12, "afternoon": 15, "evening": 18, "night": 20}
"""The hour that is meant if only a part of the day is said."""
USUAL_H = 9
"""The hour that is meant if only a day is said."""
HALF_DAY = timedelta(hours=12)
ONE_DAY = timedelta(days=1)
_FILLERS = frozenset(
    [
        "at",
        "on",
        "in",
        "the",
        "by",
        "for",
        "from",
        "around",
        "about",
        "please",
        "starting",
        "beginning",
        "exactly",
        "sharp",
        "time",
        "of",
        "and",
        "then",
        "uh",
        "um",
        "er",
        "roughly",
        "prompt",
        "again",
        "a",
        "to",
        "be",
        "oclock",
        "just",
        "say",
        "day",
        "any",
        "that",
    ]
)

_WEEKS_TODAY = re.compile(
    r"\b(?:(?:weeks?|fortnights?|months?|years?|from) today|today (?:week|fortnight))\b"
)
"""Matches phrases with "today" that mean another day: "two weeks today"."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due: either a duration from now (`after`), or a naive local time (`local`).

    For a repetition, `local` is the first time. `timed`: whether a time of day was said; if not, a
    usual one is assumed.
    """

    after: timedelta | None = None
    local: datetime | None = None
    repeat: Repeat | None = None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class _Clock:
    """What was said about the time of day."""

    at: time | None
    exact: bool
    part: str
    alarm: bool

    def on(self, day: date, *, either: bool = False) -> list[datetime]:
        """Return the times on a day that may be meant, in order.

        Args:
            either: whether both halves of the day are possible. If not, the likelier one is meant.
        """
        if self.at is None:
            return [datetime.combine(day, time(PARTS.get(self.part, USUAL_H)))]
        if self.exact or self.part:
            at = self._in_part(self.at)
            if at is None:
                return []
            late = self.part == "night" and at.hour < 5
            return [datetime.combine(day, at) + ONE_DAY * late]
        early = datetime.combine(day, self.at.replace(hour=self.at.hour % 12))
        if either and not (self.alarm and early.hour >= 5):
            return [early, early + HALF_DAY]
        return [early + HALF_DAY * (early.hour < (4 if self.alarm else 7))]

    def _in_part(self, at: time) -> time | None:
        """Return `at`, shifted by twelve hours if necessary, so that it is in the part of the day
        that was said. Return None if that is impossible."""
        if not self.part:
            return at
        first, last = {
            "morning": (0, 12), "noon": (12, 13), "afternoon": (12, 19), "evening": (16, 24),
            "night": (18, 29),
        }[self.part]  # fmt: skip
        hours = [at.hour] if self.exact else [at.hour % 12, at.hour % 12 + 12]
        for hour in (*hours, *(each + 24 for each in hours)):
            if first <= hour < last:
                return at.replace(hour=hour % 24)
        return None


def schedule(words: str, now: datetime, *, alarm: bool = False) -> Schedule | None:
    """Parse the words that say when something is due. The result is in the future. Return None if
    the words say anything else, or if their meaning is unclear.

    Args:
        now: local time.
        alarm: whether the time is for an alarm; an hour from five to eleven is then in the morning.
    """
    local = now.replace(tzinfo=None)
    said = plain(words)
    try:
        return (
            _from_now(said)
            or _interval(said, local, alarm=alarm)
            or _minute_only(as_digits(said), local)
            or _on_calendar(said, local, alarm=alarm)
        )
    except (OverflowError, ValueError):  # past the end of the calendar
        return None


def _from_now(said: str) -> Schedule | None:
    """Read "in twenty minutes", "half an hour from now" or a duration alone. Whole days are left to
    `_on_calendar`."""
    found = re.fullmatch(
        r"(?:in|after|within)(?: about| around)? (.+?)(?: time)?(?: from now)?"
        r"|(?!every|each)(.+) (?:from now|later)|(?!every|each)(.+)",
        said,
    )
    if found is None:
        return None
    words = found[1] or found[2] or found[3]
    length = seconds(words.replace(":", "."))
    whole_days = re.search(r"\b(?:day|week|fortnight)s?$", words)
    if length is None or (whole_days and length % 86400 == 0):
        return None
    return Schedule(after=timedelta(seconds=length))


def _interval(said: str, now: datetime, *, alarm: bool) -> Schedule | None:
    """Read an interval such as "every two hours", and its start if one is said."""
    if said == "hourly":
        said = "every hour"
    found = re.fullmatch(
        r"(?:every|each) (?P<length>.+?)"
        r"(?: (?:starting|beginning|from)(?: from| at)? (?P<start>.+))?",
        said,
    )
    length = seconds(found["length"].replace(":", ".")) if found else None
    if found is None or length is None or length % 60 or length >= 86400:
        return None
    minutes, hours = int(length // 60), int(length // 3600)
    repeat = Repeat(minutes, "minute") if length % 3600 else Repeat(hours, "hour")
    if not found["start"] or found["start"] == "now":
        start = now.replace(microsecond=0) + timedelta(seconds=length)
        return Schedule(local=start, repeat=repeat)
    begin = schedule(found["start"], now, alarm=alarm)
    if begin is None or begin.local is None or begin.repeat:
        return None
    return Schedule(local=begin.local, repeat=repeat, timed=begin.timed)


def _minute_only(said: str, now: datetime) -> Schedule | None:
    """Read "at twenty past", "quarter to" or "on the hour": the next such minute of any hour."""
    if said == "on the hour":
        minute: int | None = 0
    else:
        found = re.fullmatch(
            r"(?:at )?((?:half|a quarter|quarter|\d\d?)(?: minutes)?) (past|to)", said
        )
        clock = clock_time(f"{found[1]} {found[2]} 6") if found else None
        minute = clock[0].minute if clock else None
    if minute is None:
        return None
    at = now.replace(minute=minute, second=0, microsecond=0)
    return Schedule(local=at if at > now else at + timedelta(hours=1))


def _on_calendar(said: str, now: datetime, *, alarm: bool) -> Schedule | None:
    """Read a day, a repetition, a part of the day and a time, in any order."""
    phrase = Phrase(as_digits(said))
    same_time = phrase.take(r"(?:at )?(?:this|the same|same) time")
    repeat = take_repeat(phrase)
    tonight = phrase.take(r"tonight|this evening|this (?P<part>morning|afternoon)")
    present = tonight or (None if _WEEKS_TODAY.search(phrase.left) else phrase.take("today"))
    before = phrase.left
    days = take_day(phrase, now.date())
    if phrase.left != before and not days:
        return None  # there is no such day
    clock = _clock(phrase, _take_part(phrase, tonight), alarm=alarm)
    if clock is not None and same_time:
        clock = replace(clock, at=now.time(), exact=True) if clock.at is None else None
    if clock is None or (present and (days or repeat)):
        return None
    if clock.at == time(0) and clock.part != "night" and (present or days or _on_days(repeat)):
        return None  # midnight could be either end of that day
    if repeat and not (days and not _may_begin(repeat, said)):
        return _repeated(clock, repeat, days, now)
    if repeat or not (present or days or clock.at or clock.part):
        return None
    if present:
        last_night = [now.date() - ONE_DAY] * bool(tonight and now.hour < 5)
        today = replace(clock, alarm=False)  # with "today", the evening may be meant too
        return _soonest(today, [*last_night, now.date()], now, ambiguous=True)
    if days:
        return _soonest(clock, days, now)
    last_night = [now.date() - ONE_DAY] * (clock.part == "night")
    return _soonest(clock, [*last_night, now.date(), now.date() + ONE_DAY], now, ambiguous=True)


def _on_days(repeat: Repeat | None) -> bool:
    return repeat is not None and repeat.unit != "day"


def _may_begin(repeat: Repeat, said: str) -> bool:
    """Return whether a day may be said together with a repetition: the repetition leaves its day
    open, or the day is said to be the first one."""
    opened = repeat.unit != "day" and not (repeat.weekdays or repeat.day)
    return opened or re.search(r"\b(?:from|starting|beginning)\b", said) is not None


def _clock(phrase: Phrase, part: str, *, alarm: bool) -> _Clock | None:
    """Read the remaining words as a time of day. Return None if they are anything else."""
    if re.match(r"(?:in|after|within) \d+$", phrase.left):
        return None  # the unit is missing
    early = phrase.take("early|late")
    left = phrase.segments(_FILLERS)
    if left[1:] in (["am"], ["pm"]):
        left = [" ".join(left)]
    if not left:
        return None if early else _Clock(None, False, part, alarm)
    read = clock_time(re.sub(r"^([01]\d|2[0-3])([0-5]\d)$", r"\1:\2", left[0]))
    if read is None or left[1:]:
        return None
    exact = read[1] and not (part == "night" and "midnight" in left[0])
    return _Clock(read[0], exact, part, alarm)


def _take_part(phrase: Phrase, tonight: re.Match[str] | None) -> str:
    """Take out a part of the day."""
    first = phrase.take("1 thing")
    found = phrase.take(
        r"(?:(?:in|at|on|during|of) )?(?:the )?(?P<part>morning|afternoon|evening|night)s?"
        r"|(?:at )?(?P<noon>lunch ?time|lunch)"
    )
    if found:
        return "noon" if found["noon"] else found["part"]
    if tonight:
        return tonight["part"] or tonight[0].replace("this ", "").replace("tonight", "night")
    return "morning" if first else ""


def _soonest(
    clock: _Clock, days: Iterable[date], now: datetime, *, ambiguous: bool = False
) -> Schedule | None:
    """Return the first future time on these days; None if there is none.

    Args:
        ambiguous: whether both halves of the day are possible.
    """
    for day in days:
        for at in clock.on(day, either=ambiguous):
            if at > now:
                return Schedule(local=at, timed=clock.at is not None)
    return None


def _repeated(clock: _Clock, repeat: Repeat, days: list[date], now: datetime) -> Schedule | None:
    """Return a repetition that begins at its first future time; None if there is none."""
    start = days[0] if days else now.date() - ONE_DAY * (clock.part == "night")
    bare = not (days or clock.at or clock.part or repeat.weekdays or repeat.day)
    repeat = _anchored(repeat, days[0]) if days else repeat
    # "Every three days" alone begins in three days; anything more specific as soon as possible.
    often = repeat if bare else replace(repeat, every=1)
    for day in islice(dates(often, start, start), int(bare), MOST_DAYS):
        for at in clock.on(day):
            if at > now:
                return _shifted(Schedule(None, at, repeat, clock.at is not None), day)
    return None


def _shifted(found: Schedule, day: date) -> Schedule | None:
    """If the time falls on the day after `day`, move the weekdays of the repetition too: "Saturday
    night at one" is Sunday. Return None for days of the month, which can't be moved like this."""
    repeat = found.repeat
    if repeat is None or found.local is None or found.local.date() == day or repeat.unit == "day":
        return found
    if repeat.unit != "week":
        return None
    moved = sorted((each + 1) % 7 for each in repeat.weekdays)
    return replace(found, repeat=replace(repeat, weekdays=tuple(moved)))


def _anchored(repeat: Repeat, named: date) -> Repeat:
    """Return the repetition on the day that was named together with it: "every week on Friday"."""
    if repeat.unit == "week" and not repeat.weekdays:
        return replace(repeat, weekdays=(named.weekday(),))
    if repeat.unit in ("month", "year") and not repeat.day and not repeat.nth:
        return replace(repeat, day=named.day)
    return repeat
