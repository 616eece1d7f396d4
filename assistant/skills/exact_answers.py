"""The skill that tells the time and dates, and calculates, without the language model."""

import asyncio
import re
from collections.abc import Callable
from datetime import date, datetime

from assistant.intents import Command, CommandKind
from assistant.language.calculations import calculate
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.days import named_day
from assistant.language.places import zone_of
from assistant.language.spoken_numbers import whole_number
from assistant.language.spoken_times import ordinal_words_of, spoken_clock
from assistant.skills.skill import Reply

UNKNOWN_PLACE = "I don't know the time there."
NEAR_DAYS = 300
"""Number of days from today beyond which a date is spoken with its year."""
_HERE = frozenset({"here", "home", "at home"})
_PRESENT = re.compile(r"(?:it )?(?:is )?(?:today|now|it|right now|(?:the |this )?(?:date|day))")
_YEAR = re.compile(r"(?:(?:the|this|what) )?(?:year|month)")
_WEEK = re.compile(r"(?:(?:the|this|what|calendar) )?week(?: number)?")
_WEEKDAY = re.compile(rf"(?:next|this) (?:{'|'.join(WEEKDAYS)})", re.IGNORECASE)


class ExactAnswers:
    """Answers from the clock, the calendar and arithmetic. It changes and stores nothing.

    A question that can't be understood completely is left to the language model.

    Args:
        now: returns the local wall time.
        english: whether the language is English. In other languages, the skill does nothing.
    """

    kinds = frozenset({CommandKind.TIME, CommandKind.DATE, CommandKind.CALCULATE})

    def __init__(
        self,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        *,
        english: bool = True,
    ) -> None:
        self._now = now
        self._english = english

    async def carry_out(self, command: Command) -> Reply | None:
        if not self._english:
            return None
        text = await asyncio.to_thread(self._answer, command)  # reads files when first used
        return Reply(text) if text is not None else None

    async def ask(self, command: Command) -> Reply | None:
        """Return None. If it isn't certain that an exact answer is wanted, an answer from the
        language model bothers the user less than a question would."""
        del command
        return None

    def _answer(self, command: Command) -> str | None:
        now = self._now()
        if command.kind is CommandKind.TIME:
            return time_answer(command.name, now)
        if command.kind is CommandKind.DATE:
            return date_answer(command.when, now.date())
        return calculate(command.words, now) if command.words else None


def time_answer(place: str | None, now: datetime) -> str:
    """Return the time in words, here or at a place.

    Args:
        now: local time.
    """
    if place is None or place.strip().lower() in _HERE:
        return f"It's {spoken_clock(now)}."
    zone = zone_of(place)
    if zone is None:
        return UNKNOWN_PLACE
    there = now.astimezone(zone)
    clock = spoken_clock(there)
    part = "" if clock in ("noon", "midnight") else f" {_part_of_day(there.hour)}"
    day = f" on {WEEKDAYS[there.weekday()]}" if there.date() != now.date() else ""
    return f"It's {clock}{part}{day} in {place.strip(' .')}."


def date_answer(when: str | None, today: date) -> str | None:
    """Return a day in words: its date, with the year if that was asked for or the day is far away.
    If a week was asked for, return its number. None if the words name no day."""
    said = re.sub(r"[^\w ]", "", when.lower()).strip() if when is not None else "today"
    if _PRESENT.fullmatch(said):
        return f"It's {_spoken_date(today, year=False)}."
    if _YEAR.fullmatch(said):
        return f"It's {_spoken_date(today, year=True)}."
    if _WEEK.fullmatch(said):
        return f"It's week {whole_number(today.isocalendar().week)}."
    day = named_day(said, today)
    if day is None:
        return None
    far = abs((day - today).days) > NEAR_DAYS
    if _WEEKDAY.fullmatch(said):
        return f"{said.title()} is {_spoken_day(day, year=far)}."
    verb = "That was" if day < today else "That's"
    return f"{verb} {_spoken_date(day, year=far)}."


def _part_of_day(hour: int) -> str:
    if 0 < hour < 12:
        return "in the morning"
    if 12 <= hour < 22:
        return "in the afternoon" if hour < 18 else "in the evening"
    return "at night"


def _spoken_date(day: date, *, year: bool) -> str:
    return f"{WEEKDAYS[day.weekday()]}, {_spoken_day(day, year=year)}"


def _spoken_day(day: date, *, year: bool) -> str:
    """Return e.g. "the eighteenth of November", or with the year "the eighteenth of November,
    twenty twenty-six"."""
    words = f"the {ordinal_words_of(day.day)} of {MONTHS[day.month - 1]}"
    return f"{words}, {_spoken_year(day.year)}" if year else words


def _spoken_year(year: int) -> str:
    """Return a year as it is said: "twenty twenty-six", "two thousand and five"."""
    century, rest = divmod(year, 100)
    if century % 10 == 0 and rest < 10:
        return whole_number(year)
    if rest < 10:
        return f"{whole_number(century)} {f'oh {whole_number(rest)}' if rest else 'hundred'}"
    return f"{whole_number(century)} {whole_number(rest)}"
