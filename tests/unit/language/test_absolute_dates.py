"""Relative days in a sentence are replaced by dates."""

from datetime import date

import pytest

from assistant.language.absolute_dates import with_absolute_dates

THURSDAY = date(2026, 4, 9)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("My exam is tomorrow", "My exam is on Friday 10 April 2026"),
        ("I fell two days ago", "I fell on Tuesday 7 April 2026"),
        ("we lost him three weeks ago today", "we lost him on Thursday 19 March 2026"),
        ("it's in three weeks now", "it's on Thursday 30 April 2026"),
        ("I gave blood on Saturday", "I gave blood on Saturday 4 April 2026"),
        ("I start on Monday", "I start on Monday 13 April 2026"),
        ("We met last Friday", "We met on Friday 3 April 2026"),
        ("my leave begins next Thursday", "my leave begins on Thursday 16 April 2026"),
        ("I was made redundant last year", "I was made redundant in 2025"),
        ("we're moving next month", "we're moving in May 2026"),
        ("I gave up smoking four years ago", "I gave up smoking in 2022"),
        ("She comes every Tuesday", "She comes every Tuesday"),
        ("Tuesdays is my meeting", "Tuesdays is my meeting"),
        ("he's forty on the third", "he's forty on Sunday 3 May 2026"),
        ("my birthday is on the third of June", "my birthday is on the third of June"),
        ("they changed my test on the third", "they changed my test on the third"),
        ("I've got to be there on Monday", "I've got to be there on Monday 13 April 2026"),
        ("I got the job, I start on Monday", "I got the job, I start on Monday 13 April 2026"),
        ("He came early, Wednesday night", "He came early, on Wednesday 8 April 2026"),
        ("he starts a week on Monday", None),
        ("a week tomorrow I fly", None),
        ("I see her Tuesday week", None),
        ("I go once a week on Monday", None),
        ("last week on Monday I worked", None),
        ("I swim Monday to Friday", None),
        ("it's the first Monday of the month", None),
        ("it's Black Friday", None),
        ("my daughter Wednesday is six", None),
        ("so Sunday brunch is a comedy", None),
        ("they moved my test to Tuesday", None),
        ("I booked the dentist for Friday", None),
        ("the oven is here since Saturday", None),
        ("that next Saturday I fly", None),
        ("I finished the book in three days", None),
        ("I'll be home until tomorrow", None),
        ("Tomorrow's weather is bad", None),
        ("tomorrow \ue001 and yesterday", None),
        ("it was taken that Saturday", None),
        ("the other day I saw him", None),
        ("I'm off on Thursday", None),
    ],
)
def test_relative_days_become_dates_and_ambiguous_days_give_none(
    said: str, meant: str | None
) -> None:
    assert with_absolute_dates(said, THURSDAY) == meant
