"""The date ranges that time expressions mean on a given day."""

from datetime import date

import pytest

from assistant.language.calendar import Span, months, nearest, one_day
from assistant.language.time_expressions import find_time_expressions, without_times

TODAY = date(2026, 7, 2)
"""The day on which the questions are asked, a Thursday."""


def spans(text: str, today: date = TODAY) -> list[str]:
    """The ranges as "first/last", or as one date if a range is a single day."""
    found = [(each.first, each.last) for each in find_time_expressions(text, today).spans]
    return [f"{first}/{last}" if first != last else f"{first}" for first, last in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did I say yesterday?", ["2026-07-01"]),
        ("what did I eat last night", ["2026-07-01"]),
        ("what did I do the day before yesterday", ["2026-06-30"]),
        ("what have I got tomorrow morning?", ["2026-07-03"]),
        ("what did I weigh this morning", ["2026-07-02"]),
        ("who rang on Tuesday?", ["2026-06-30"]),
        ("who did I meet last Friday", ["2026-06-26"]),
        ("who did I meet last Tuesday", ["2026-06-30", "2026-06-23"]),
        ("what is on next Friday", ["2026-07-03", "2026-07-10"]),
        ("what is on on Monday", ["2026-06-29", "2026-07-06"]),
        ("what did we do the Sunday before last", ["2026-06-21"]),
        ("where did we go last weekend?", ["2026-06-27/2026-06-28"]),
        ("where did we go the weekend before last?", ["2026-06-20/2026-06-21"]),
        ("who came last week?", ["2026-06-22/2026-06-28"]),
        ("what happened last month", ["2026-06-01/2026-06-30"]),
        ("where did we go last year", ["2025-01-01/2025-12-31"]),
        ("what did he say two weeks ago", ["2026-06-15/2026-06-21"]),
        ("what did he say a couple of days ago", ["2026-06-30"]),
        ("what happened in the last three days", ["2026-06-29/2026-07-02"]),
        ("what did I buy in May?", ["2026-05-01/2026-05-31"]),
        ("what did I buy last July?", ["2025-07-01/2025-07-31"]),
        ("what did I buy in November 2024?", ["2024-11-01/2024-11-30"]),
        ("what was it at the end of March", ["2026-03-21/2026-03-31"]),
        ("what was it in mid May", ["2026-05-11/2026-05-21"]),
        ("where did we go last summer?", ["2025-06-01/2025-08-31"]),
        ("where did we go in the winter?", ["2025-12-01/2026-02-28"]),
        ("what did I start this spring", ["2026-03-01/2026-05-31"]),
        ("what did we eat at Christmas?", ["2025-12-24/2025-12-27"]),
        ("what did I buy before Christmas?", ["2025-11-24/2025-12-23"]),
        ("who came at Easter?", ["2026-04-03/2026-04-06"]),
        ("what did he do since New Year", ["2026-01-02/2026-07-02"]),
        ("who rang on the ninth of June?", ["2026-06-09"]),
        ("who rang on June 9th?", ["2026-06-09"]),
        ("who rang on 3 June, 2023?", ["2023-06-03"]),
        ("who rang on Saturday the twentieth of June", ["2026-06-20"]),
        ("what did she do the week before August 3, 2023", ["2023-07-27/2023-08-03"]),
        ("which puppy came two weeks before August 11, 2023", ["2023-07-25/2023-07-31"]),
        ("what did she run last weekend before April 10, 2023", ["2023-04-08/2023-04-09"]),
        ("where were you back in 2019", ["2019-01-01/2019-12-31"]),
    ],
)
def test_time_expressions_are_resolved_to_date_ranges(text: str, expected: list[str]) -> None:
    assert spans(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "who is April married to?",
        "what may I not eat?",
        "how does June take her tea?",
        "what did May's brother say",
        "the second may be late",
        "what do I do on Mondays?",
        "what sort of animal is Friday?",
        "what gets bad in summer",
        "when is last orders?",
        "the march was long",
        "meet me on the 30th of February",
        "soon, or later, or again",
        "my second sister has twenty cats",
        "",
    ],
)
def test_words_that_only_look_like_time_expressions_are_ignored(text: str) -> None:
    found = find_time_expressions(text, TODAY)
    assert found.spans == ()
    assert found.rest.split() == text.split()


def test_without_a_past_tense_the_next_occurrence_counts_too() -> None:
    assert spans("my exam is on the ninth of June", date(2026, 4, 9)) == [
        "2025-06-09",
        "2026-06-09",
    ]
    assert spans("what are the plans for the summer", TODAY)[0] == "2026-06-01/2026-08-31"


def test_ranges_of_months_respect_leap_years_and_the_turn_of_the_year() -> None:
    assert months(2023, 14) == Span(date(2024, 2, 1), date(2024, 2, 29))
    assert months(2026, -1) == months(2025, 11)
    assert months(2026, 12, 3) == Span(date(2026, 12, 1), date(2027, 2, 28))
    assert nearest(lambda year: one_day(date(year, 12, 31)), date(2026, 1, 1), ahead=True) == [
        one_day(date(2025, 12, 31)),
        one_day(date(2026, 12, 31)),
    ]


@pytest.mark.parametrize(("year", "day"), [(2024, (3, 31)), (2025, (4, 20)), (2038, (4, 25))])
def test_easter_is_found_in_each_year(year: int, day: tuple[int, int]) -> None:
    [easter] = find_time_expressions(f"at Easter {year}", TODAY).spans
    assert (easter.last.month, easter.last.day - 1) == day or easter.last.day == 1
    assert easter.days == 4


def test_time_expressions_are_removed_from_a_question_if_other_words_remain() -> None:
    assert without_times("What was wrong with the boiler in January?") == (
        "What was wrong with the boiler ?"
    )
    assert without_times("What about yesterday?") == "What about yesterday?"
    assert without_times("İstanbul'da in May 2024 ne oldu?") == "İstanbul'da ne oldu?"


def test_a_text_of_a_megabyte_is_handled_quickly() -> None:
    find_time_expressions("on the first of the last next week before " * 25_000, TODAY)
