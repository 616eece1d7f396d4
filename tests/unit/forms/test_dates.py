"""Reading a date as people say it."""

from datetime import date

import pytest

from assistant.forms import Slot, read
from assistant.forms.dates import read_date
from assistant.forms.spans import values_in

TODAY = date(2026, 11, 18)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("ninth of the ninth seventy-nine", "1979-09-09"),
        ("Twenty-seventh of the sixth, eighty-eight", "1988-06-27"),
        ("fourth of the tenth two thousand and five", "2005-10-04"),
        ("tenth of the tenth oh four", "2004-10-10"),
        ("the ninth of the thirteenth seventy-nine", None),
        ("November the first, eighty-six", "1986-11-01"),
        ("April second of fifty", "1950-04-02"),
        ("the twenty-three of April of eighty-six", "1986-04-23"),
        ("August twentieth, eighty-nine", "1989-08-20"),
        ("Fifty-eight, first of April", "1958-04-01"),
        ("Nineteen fifty-one, October the first", "1951-10-01"),
        ("Halloween of 99", "1999-10-31"),
        ("Christmas Eve, nineteen fifty-one", "1951-12-24"),
        ("the 3rd of May '26", "2026-05-03"),
        ("the 3rd of May '27", "1927-05-03"),
        ("twelve, eleven, seventy-nine", "1979-11-12"),
        ("eleven, thirty, seventy-nine", "1979-11-30"),
        ("5 10 95", "1995-10-05"),
        ("five twenty nineteen eighty", "1980-05-20"),
        ("thirty thirty eighty", None),
        ("since 3/5/1980", "1980-05-03"),
        ("twenty-ninth of June", None),
    ],
)
def test_a_date_that_needs_its_year_is_read_in_any_form(words: str, value: str | None) -> None:
    assert read_date(words, TODAY, past=True, with_year=True) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("14 August 1971", "1971-08-14"),
        ("the sixteenth of February twenty twenty", "2020-02-16"),
        ("the fourth of the tenth", "2027-10-04"),
        ("July sixty-nine", "1969-07"),
        ("April of twenty-one", "2021-04"),
        ("July twenty-one", "2027-07-21"),
        ("12 11 79", None),
    ],
)
def test_a_date_with_its_year_may_be_over_where_days_to_come_are_asked_for(
    words: str, value: str | None
) -> None:
    assert read_date(words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "to_come", "over"),
    [
        ("the second Tuesday in June", "2027-06-08", "2026-06-09"),
        ("the last Saturday in March", "2027-03-27", "2026-03-28"),
        ("First of the month", "2026-12-01", "2026-11-01"),
        ("second of June", "2027-06-02", "2026-06-02"),
        ("First Saturday of the month", "2026-12-05", "2026-11-07"),
        ("the last weekend in September", "2027-09-25", "2026-09-26"),
        ("the fifth Monday in March", "2027-03-29", "2026-03-30"),
        ("the fifth Monday in February", None, None),
        ("the first Monday in May 2020", "2020-05-04", "2020-05-04"),
        ("the first week of October", "2027-10-04", "2026-10-05"),
        ("the week of July eighth", "2027-07-05", "2026-07-06"),
        ("Monday the sixteenth", "2027-08-16", "2026-11-16"),
        ("Saturday the thirty-first", "2027-07-31", "2026-10-31"),
        ("Monday the thirty-second", None, None),
        ("the eleventh of last month", "2026-10-11", "2026-10-11"),
        ("twenty third", "2026-11-23", "2026-10-23"),
        ("the thirty-first", "2026-12-31", "2026-10-31"),
        ("the start of the year", "2026-01", "2026-01"),
        ("the back end of last year", "2025-12", "2025-12"),
        ("the beginning of May", "2027-05", "2026-05"),
    ],
)
def test_a_day_of_a_month_is_the_next_or_the_last_one(
    words: str, to_come: str | None, over: str | None
) -> None:
    assert read_date(words, TODAY) == to_come
    assert read_date(words, TODAY, past=True) == over


@pytest.mark.parametrize("words", ["Saturday the fifth of October", "Friday, 6 September"])
def test_a_date_that_is_on_another_weekday_within_a_year_is_not_read(words: str) -> None:
    assert read_date(words, TODAY) is None
    assert read_date(words, TODAY, past=True) is None


@pytest.mark.parametrize(
    ("words", "to_come", "over"),
    [
        ("the day after Boxing Day", "2026-12-27", "2025-12-27"),
        ("about two weeks before Thanksgiving", "2027-11-11", "2026-11-12"),
        ("two days before Thanksgiving", "2026-11-24", "2025-11-25"),
        ("the Wednesday before Thanksgiving", "2026-11-25", "2025-11-26"),
        ("the Sunday after Christmas", "2026-12-27", "2025-12-28"),
        ("the day after the third of May", "2027-05-04", "2026-05-04"),
        ("a week before Christmas 2020", "2020-12-18", "2020-12-18"),
        ("the week before Christmas", None, None),
        ("two days before my birthday", None, None),
        ("the day after", None, None),
    ],
)
def test_a_day_is_counted_from_a_date_or_a_feast(
    words: str, to_come: str | None, over: str | None
) -> None:
    assert read_date(words, TODAY) == to_come
    assert read_date(words, TODAY, past=True) == over


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("a week ago today", "2026-11-11"),
        ("a week ago Saturday", "2026-11-07"),
        ("A week last Sunday", "2026-11-08"),
        ("two weeks last Sunday", "2026-11-01"),
        ("a week on Monday past", "2026-11-09"),
        ("Monday week ago", "2026-11-09"),
        ("Sunday gone", "2026-11-15"),
        ("Friday of last week", "2026-11-13"),
        ("Sunday before last", "2026-11-08"),
        ("last weekend", "2026-11-14"),
        ("the weekend before last", "2026-11-07"),
        ("the Christmas before last", "2024-12-25"),
        ("last Christmas", "2025-12-25"),
        ("dinner time last night", "2026-11-17"),
        ("at two this morning", "2026-11-18"),
        ("this arvo", "2026-11-18"),
    ],
)
def test_a_day_that_is_over_is_read_whatever_is_asked_for(words: str, value: str) -> None:
    assert read_date(words, TODAY) == value
    assert read_date(words, TODAY, past=True) == value


@pytest.mark.parametrize(
    ("words", "to_come", "over"),
    [
        ("last November", "2025-11", "2025-11"),
        ("next November", "2027-11", "2027-11"),
        ("next March", "2027-03", "2027-03"),
        ("last autumn", "2025-09", "2025-09"),
        ("last spring", "2026-03", "2026-03"),
        ("next Saturday", "2026-11-28", None),
        ("the Saturday after next", "2026-12-05", "2026-12-05"),
        ("the weekend after next", "2026-12-05", "2026-12-05"),
    ],
)
def test_the_last_and_the_next_one_are_never_the_one_that_is_now(
    words: str, to_come: str | None, over: str | None
) -> None:
    assert read_date(words, TODAY) == to_come
    assert read_date(words, TODAY, past=True) == over


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("since March", "2026-03"),
        ("Since the third", "2026-11-03"),
        ("since Christmas", "2025-12-25"),
        ("since two weeks ago", "2026-11-04"),
    ],
)
def test_what_has_lasted_since_a_date_began_in_the_past(words: str, value: str) -> None:
    assert read_date(words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [("May '01", "2001-05"), ("the summer of ’69", "1969-06"), ("May 01", "2026-05-01")],
)
def test_a_year_of_two_digits_is_known_by_its_apostrophe(words: str, value: str) -> None:
    assert read_date(words, TODAY, past=True) == value


@pytest.mark.parametrize(
    "words",
    [
        "tomorrow",
        "tomorrow week",
        "a week on Monday",
        "in two weeks",
        "three weeks from now",
        "next weekend",
        "the coming weekend",
    ],
)
def test_a_day_to_come_is_none_of_the_past(words: str) -> None:
    assert read_date(words, TODAY) is not None
    assert read_date(words, TODAY, past=True) is None


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("on Boxing Day", "2025-12-26"),
        ("since Easter", "2026-04-05"),
        ("since about Whitsun", "2026-05-24"),
        ("on Labor Day", "2026-09-07"),
        ("Memorial Day", "2026-05-25"),
        ("Palm Sunday", "2026-03-29"),
        ("Ash Wednesday", "2026-02-18"),
        ("Black Friday", "2025-11-28"),
        ("Remembrance Sunday", "2026-11-08"),
        ("bonfire night", "2026-11-05"),
        ("since Diwali", None),
        ("on Mother's Day", None),
    ],
)
def test_a_feast_in_the_past_is_the_last_one(words: str, value: str | None) -> None:
    assert read_date(words, TODAY, past=True) == value


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        "the other one",
        "since the beach",
        "Monday or Tuesday",
        "three or four",
        "the fourth and the fifth",
        "tenth eleventh",
        "second",
        "first of all",
        "a second",
        "the second one",
        "the second week",
        "the fifth day",
        "the third month",
        "the second year",
        "the first three days",
        "any day in the second half of November",
        "3/5/1980 or 4/5/1980",
    ],
)
def test_what_names_no_single_day_is_not_read(words: str, past: bool) -> None:
    assert read_date(words, TODAY, past=past) is None


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("the Sunday after the concert", []),
        ("two days later", []),
        ("about a week after he was born", []),
        ("the Friday before", []),
        ("on my thirtieth birthday", []),
        ("since the second year of school", []),
        ("on Friday after work", ["2026-11-20"]),
        ("let's say the twentieth", ["2026-11-20"]),
    ],
)
def test_a_day_beside_one_that_is_not_named_is_not_found_among_other_words(
    words: str, values: list[str]
) -> None:
    slot = Slot.model_validate({"name": "it", "type": "date", "ask": "When?"})
    assert read(slot, words, TODAY) is None
    assert values_in(slot, words, TODAY) == values
