"""Names of days and months, and days in words."""

from datetime import date, datetime

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""Not from `strftime`, whose names depend on the process's locale."""


PART_OF_DAY = r"(?: (?:morning|afternoon|evening|night|lunchtime))?"
"""An expression for what may follow a day."""


def local_day(when: datetime) -> date:
    """The date in the local time zone, as the user means "today". If converting to that zone would
    overflow, the date as stored."""
    try:
        return when.astimezone().date()
    except (OverflowError, ValueError):
        return when.date()


def day_words(when: datetime) -> str:
    """A day as a user may ask for it: "Monday 8 May 2023". Added to a memory's searchable text."""
    day = local_day(when)
    return f"{day:%A} {day.day} {day:%B %Y}"
