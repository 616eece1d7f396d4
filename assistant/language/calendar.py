"""Names of days and months, and days as they are said."""

from datetime import date, datetime

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""Not by `strftime`, whose names follow the process's locale."""


PART_OF_DAY = r"(?: (?:morning|afternoon|evening|night|lunchtime))?"
"""An expression for what may follow a day."""


def local_day(when: datetime) -> date:
    """The day on the calendar of who talks here, as they mean it by "today". At the ends of time,
    where the zone would lead beyond them, the day that is written."""
    try:
        return when.astimezone().date()
    except (OverflowError, ValueError):
        return when.date()


def day_words(when: datetime) -> str:
    """A day as it may be asked for: "Monday 8 May 2023". A memory's context, to be searched."""
    day = local_day(when)
    return f"{day:%A} {day.day} {day:%B %Y}"
