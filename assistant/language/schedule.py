"""Reads when something is due, as people say it: "tomorrow at nine", "in twenty minutes", "6:30
every weekday".

English only. Words that can't be read as a whole, or that have two likely meanings, give None:
then the user is asked. What may be meant twice a day or every week is the next one to come.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import chain

from assistant.language.clock_times import clock_time
from assistant.language.days import Phrase, as_digits, plain, take_day
from assistant.language.durations import seconds
from assistant.language.repeat_words import take_repeat
from assistant.language.repeats import Repeat, dates

PARTS = {"morning": 9, "noon": 12, "afternoon": 15, "evening": 18, "night": 20}
"""The hour that is meant by a part of the day alone."""
USUAL_H = 9
"""The hour that is meant by a day alone."""
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


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due: either `after` a duration from now, or at the naive `local` time.

    `local` is the first time of a repetition. `timed`: whether a time of day was said; otherwise
    it is what is usual.
    """

    after: timedelta | None = None
    local: datetime | None = None
    repeat: Repeat | None = None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class _Clock:
    """What was said of the time of day."""

    at: time | None
    exact: bool
    part: str
    alarm: bool

    def on(self, day: date, *, today: bool) -> list[datetime]:
        """Return the times that may be meant on a day, in order.

        Args:
            today: whether it is the present day, of which what is to come counts.
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
        if today:
            return [early, early + HALF_DAY]
        morning = early.hour >= 4 if self.alarm else early.hour >= 7
        return [early + HALF_DAY * (not morning)]

    def _in_part(self, at: time) -> time | None:
        """Return the time in the part of the day that was said, or None if it isn't in there."""
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
    """Read when something is due. The result is in the future. None if the words say anything else,
    or if it isn't sure what they mean.

    Args:
        now: local time.
        alarm: whether it is for an alarm, so that an hour from five to eleven is in the morning.
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
    """Read "in twenty minutes" or "half an hour from now". Whole days are left to the calendar."""
    found = re.fullmatch(r"(?:in|after|within)(?: about| around)? (.+?)(?: time)?(?: from now)?|"
                         r"(.+) (?:from now|later)", said)  # fmt: skip
    if found is None:
        return None
    length = seconds((found[1] or found[2]).replace(":", "."))
    whole_days = re.search(r"\b(?:day|week|fortnight|month)s?$", said.removesuffix(" time"))
    if length is None or (whole_days and length % 86400 == 0):
        return None
    return Schedule(after=timedelta(seconds=length))


def _interval(said: str, now: datetime, *, alarm: bool) -> Schedule | None:
    """Read "every two hours", and from when on."""
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
    days = iter([now.date()]) if tonight else take_day(phrase, now.date())
    part = _take_part(phrase, tonight)
    early = phrase.take("early|late")
    left = phrase.segments(_FILLERS)
    if left[1:] in (["am"], ["pm"]):
        left = [" ".join(left)]
    read = clock_time(left[0]) if left else (now.time(), True) if same_time else None
    if len(left) > 1 or (left and read is None) or (left and same_time) or (early and not read):
        return None
    at, exact = read or (None, False)
    clock = _Clock(at, exact, part, alarm)
    midnight = bool(left) and "midnight" in left[0]
    return _first(clock, days, repeat, now, midnight=midnight, tonight=bool(tonight))


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


def _first(
    clock: _Clock,
    days: Iterator[date],
    repeat: Repeat | None,
    now: datetime,
    *,
    midnight: bool,
    tonight: bool,
) -> Schedule | None:
    """Return the first time to come, or None if there is none or none was said."""
    named = next(days, None)
    if named is None and repeat is None and clock.at is None and not clock.part:
        return None
    if midnight and (clock.part == "night" or tonight):
        clock = _Clock(clock.at, True, "night", clock.alarm)
    elif midnight and (named or (repeat and repeat.unit != "day")):
        return None  # the one before that day, or the one after it
    timed = clock.at is not None
    if repeat is not None:
        repeat, start = _anchored(repeat, named, now.date())
        for day in dates(repeat, start, start):
            for at in clock.on(day, today=False):
                if at > now:
                    return Schedule(local=at, repeat=repeat, timed=timed)
            if not clock.on(day, today=False):
                return None
    today = now.date()
    candidates: Iterable[date] = (today, today + ONE_DAY)
    if named is not None:
        candidates = chain([named], days)
    for day in candidates:
        for at in clock.on(day, today=day == today or named is None):
            if at > now and not (named is None and clock.alarm and _unlikely(clock, at)):
                return Schedule(local=at, timed=timed)
    return None


def _unlikely(clock: _Clock, at: datetime) -> bool:
    """Return whether an alarm's hour would be in the evening, although it may be in the morning."""
    return not clock.exact and not clock.part and clock.at is not None and 17 <= at.hour <= 23


def _anchored(repeat: Repeat, named: date | None, today: date) -> tuple[Repeat, date]:
    """Return the repetition with the day that was named beside it ("every week on Friday"), and the
    day from which on it applies."""
    if named is None:
        return repeat, today
    if repeat.unit == "week" and not repeat.weekdays:
        return Repeat(repeat.every, "week", (named.weekday(),)), named
    if repeat.unit in ("month", "year") and not repeat.day and not repeat.nth:
        return Repeat(repeat.every, repeat.unit, day=named.day), named
    return repeat, named
