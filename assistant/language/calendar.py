"""Names of days and months, and ranges of days such as weeks, seasons (northern hemisphere) and
holidays."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""English names of the months. `strftime` is not used, because its names depend on the process's
locale."""
PART_OF_DAY = r"(?: (?:morning|afternoon|evening|night|lunchtime))?"
"""A regular expression for the part of the day that may follow the name of a day."""
MINUTES_OF_DAY = 24 * 60
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The number of the month in which each season begins. A season lasts three months."""


def local_day(when: datetime) -> date:
    """Return the date of `when` in the local time zone, as the user understands "today". If the
    conversion would overflow, return the date in the time zone of `when`."""
    try:
        return when.astimezone().date()
    except (OverflowError, ValueError):
        return when.date()


def day_words(when: datetime) -> str:
    """Return a date in the words in which a user may ask for it: "Monday 8 May 2023". These words
    are added to a memory's searchable text."""
    day = local_day(when)
    return f"{day:%A} {day.day} {day:%B %Y}"


@dataclass(frozen=True, slots=True)
class Span:
    """A range of days; both ends are included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    def moved(self, days: int) -> "Span":
        step = timedelta(days=days)
        return Span(self.first + step, self.last + step)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, from `since` to `until`.

    `days`: whether the period was named by days ("yesterday", "last week") rather than by the
    clock, or lasts at least a day. Such a period may include much of what was said.
    """

    since: datetime
    until: datetime
    days: bool = False

    @classmethod
    def last(cls, minutes: float, now: datetime) -> "Period":
        """Return the period that ends now and lasts this long."""
        return cls(now - timedelta(minutes=minutes), now, minutes >= MINUTES_OF_DAY)


Yearly = Callable[[int], Span]
"""Returns the days of a yearly event in a given year."""


def one_day(day: date, spare: int = 0) -> Span:
    """Return a day, plus `spare` days before and after it."""
    return Span(day - timedelta(days=spare), day + timedelta(days=spare))


def week_of(day: date) -> Span:
    monday = day - timedelta(days=day.weekday())
    return Span(monday, monday + timedelta(days=6))


def months(year: int, month: int, count: int = 1) -> Span:
    """Return the range of `count` months that begins with `month` of `year`. A `month` below 1 or
    above 12 denotes a month of an earlier or a later year."""
    first, after = (divmod(year * 12 + month - 1 + step, 12) for step in (0, count))
    end = date(after[0], after[1] + 1, 1) - timedelta(days=1)
    return Span(date(first[0], first[1] + 1, 1), end)


def years(year: int) -> Span:
    return months(year, 1, 12)


def part_of(span: Span, part: str) -> Span:
    """Return the first third of a span for `start`, the middle third for `middle`, otherwise the
    last third."""
    third = timedelta(days=span.days // 3)
    if part == "start":
        return Span(span.first, span.first + third)
    if part == "middle":
        return Span(span.first + third, span.last - third)
    return Span(span.last - third, span.last)


def nearest(yearly: Yearly, today: date, *, ahead: bool) -> list[Span]:
    """Return the latest occurrence that has begun. If `ahead`, also return the next one."""
    spans = [yearly(today.year + step) for step in range(-2, 3)]
    begun = [each for each in spans if each.first <= today]
    return begun[-1:] + ([each for each in spans if each.first > today][:1] if ahead else [])


def _easter(year: int) -> Span:
    """Return Good Friday to Easter Monday (Western), by the anonymous Gregorian algorithm."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    i = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * i) // 451
    month, day = divmod(h + i - 7 * m + 114, 31)
    sunday = date(year, month, day + 1)
    return Span(sunday - timedelta(days=2), sunday + timedelta(days=1))


def nth_weekday(year: int, month: int, weekday: int, rank: int) -> date:
    """Return e.g. the second Tuesday of a month; the last one if the rank is -1.

    Raises:
        ValueError: if the month has no such day.
    """
    span = months(year, month)
    if rank < 0:
        return span.last - timedelta(days=(span.last.weekday() - weekday) % 7)
    day = (weekday - span.first.weekday()) % 7 + 7 * rank - 6
    return date(year, month, day)


def _thanksgiving(year: int) -> Span:
    thursday = nth_weekday(year, 11, 3, 4)
    return Span(thursday, thursday + timedelta(days=3))


FEASTS: dict[str, Yearly] = {
    "christmas": lambda year: Span(date(year, 12, 24), date(year, 12, 27)),
    "boxing day": lambda year: one_day(date(year, 12, 26)),
    "new year": lambda year: Span(date(year, 12, 31), date(year + 1, 1, 2)),
    "easter": _easter,
    "halloween": lambda year: one_day(date(year, 10, 31)),
    "valentine": lambda year: one_day(date(year, 2, 14)),
    "thanksgiving": _thanksgiving,
}


def relative_date(said: datetime, now: datetime, *, exact: bool = False) -> str:
    """Describe when something was said, relative to `now`: "yesterday", "last Tuesday", "3 weeks
    ago", "in March 2025". Days are counted in the time zone of `now`.

    Return an empty text if the day is in the future, because then a clock must have been wrong. A
    month without a year is the latest month of that name; if this would be unclear, the year is
    added.

    Args:
        exact: whether to give the date instead of a number of weeks or the month.
    """
    local = said.astimezone(now.tzinfo)
    days = (now.date() - local.date()).days
    if days < 0:
        return ""
    if days < 2:
        return ("today", "yesterday")[days]
    if days < 7:
        return f"last {WEEKDAYS[local.weekday()]}"
    if days < 14 and not exact:
        return "last week"
    if days < 56 and not exact:
        return f"{days // 7} weeks ago"
    months = (now.year - local.year) * 12 + now.month - local.month
    year = f" {local.year}" if months > 10 else ""
    month = MONTHS[local.month - 1]
    return f"on {local.day} {month}{year}" if exact else f"in {month}{year}"


def days_away(day: date, today: date) -> str:
    """Return how far away a day is: "tomorrow", "13 days ago", "in 24 days"."""
    days = (day - today).days
    if abs(days) < 2:
        return ("yesterday", "today", "tomorrow")[days + 1]
    return f"in {days} days" if days > 0 else f"{-days} days ago"
