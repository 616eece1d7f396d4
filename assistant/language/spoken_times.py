"""Times of the past in words, as somebody would say them."""

from datetime import datetime, timedelta

from assistant.language.calendar import MONTHS, WEEKDAYS, relative_date

MOMENT = timedelta(minutes=10)
"""Something said less than this ago was said "a moment ago"."""
PARTS = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))
"""The hour at which each part of the day ends."""


def briefly(when: datetime, now: datetime) -> str:
    """Return words for a time: "a moment ago", "earlier today", "on Monday", "on 14 October".

    Return an empty text if the time is in the future, because one of two clocks must be wrong.

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
