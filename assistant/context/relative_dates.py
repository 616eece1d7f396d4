"""Dates in everyday words: "yesterday", "last Tuesday", "3 weeks ago", "in March 2025"."""

from datetime import datetime

from assistant.language.calendar import MONTHS, WEEKDAYS


def relative_date(said: datetime, now: datetime, *, exact: bool = False) -> str:
    """When something was said, seen from `now`, in the calendar of `now`'s time zone.

    Empty for a time in the future, as one of two clocks must be wrong. A month without a year is
    the latest one of that name; the year is added once that could mislead.

    Args:
        exact: name the day instead of counting weeks or naming the month alone.
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
