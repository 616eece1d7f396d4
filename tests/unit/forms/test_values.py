"""Reading the value of a slot from words, and putting it into words."""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assistant.forms import UNKNOWN, FormLibrary, Slot, Value, read, shown, spoken
from assistant.forms.values import check_value

TODAY = date(2026, 11, 18)
"""A Wednesday."""


@cache
def slot(name: str) -> Slot:
    """Return the slot "form.slot" of a shipped form."""
    form, _, own = name.partition(".")
    key = {"medical": "medical_intake", "shopping": "shopping_trip"}.get(form, form)
    found = FormLibrary(Path("/nonexistent")).get(key)
    assert found is not None
    made = found.slot(own)
    assert made is not None
    return made


def slot_of(kind: str, **more: Any) -> Slot:
    return Slot.model_validate({"name": "it", "type": kind, "ask": "What?", **more})


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("since last Tuesday", "2026-11-10"),
        ("last Monday", "2026-11-16"),
        ("since Monday", "2026-11-16"),
        ("Friday", "2026-11-13"),
        ("about two weeks ago", "2026-11-04"),
        ("for three weeks", "2026-10-28"),
        ("a couple of days ago", "2026-11-16"),
        ("yesterday", "2026-11-17"),
        ("since this morning", "2026-11-18"),
        ("last night", "2026-11-17"),
        ("the day before yesterday", "2026-11-16"),
        ("since the third", "2026-11-03"),
        ("the twentieth", "2026-10-20"),
        ("on the fifth of December", "2025-12-05"),
        ("in March", "2026-03"),
        ("last December", "2025-12"),
        ("two months ago", "2026-09"),
        ("three years ago", "2023"),
        ("nineteen eighty-four", "1984"),
        ("the 3rd of May 1980", "1980-05-03"),
        ("May third, nineteen eighty", "1980-05-03"),
        ("the fourth of July nineteen seventy six", "1976-07-04"),
        ("twelfth of March eighty four", "1984-03-12"),
        ("3/5/1980", "1980-05-03"),
        ("1980-05-03", "1980-05-03"),
        ("31/2/1980", None),
        ("when I was young", None),
        ("half past six", None),
        ("since Monday or Tuesday", None),
    ],
)
def test_a_date_in_the_past_is_read_as_precisely_as_it_is_said(
    words: str, value: str | None
) -> None:
    assert read(slot("medical.since"), words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("tomorrow", "2026-11-19"),
        ("on Friday", "2026-11-20"),
        ("next Friday", "2026-11-27"),
        ("Wednesday", "2026-11-18"),
        ("Wednesday then, the twenty-fifth", "2026-11-25"),
        ("the twelfth", "2026-12-12"),
        ("in two weeks", "2026-12-02"),
        ("Saturday morning", "2026-11-21"),
        ("the thirtieth of February", None),
        ("whenever", None),
    ],
)
def test_a_date_to_come_is_the_next_one(words: str, value: str | None) -> None:
    assert read(slot("appointment.day"), words, TODAY) == value


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("medical.severity", "seven out of ten", 7),
        ("medical.severity", "about a seven", 7),
        ("medical.severity", "eleven", None),
        ("medical.severity", "six or seven", None),
        ("medical.temperature", "thirty eight point five", 38.5),
        ("medical.temperature", "it's 38.5 degrees", 38.5),
        ("medical.temperature", "a hundred and one fahrenheit", 101),
        ("medical.temperature", "38 and a half", 38.5),
        ("medical.temperature", "38 kilograms", None),
        ("appointment.minutes", "an hour and a half", 90),
        ("appointment.minutes", "half an hour", 30),
        ("appointment.minutes", "forty five", 45),
        ("medical.temperature", "thirty-seven two", 37.2),
        ("medical.temperature", "thirty-seven and four", 37.4),
        ("medical.temperature", "ninety-eight six", 98.6),
        ("medical.temperature", "thirty six", 36),
        ("medical.severity", "nought", 0),
        ("medical.severity", "none", 0),
        ("shopping.budget", "one eighty", 180),
        ("shopping.budget", "one twenty-five pounds", 125),
        ("shopping.budget", "three oh five", 305),
        ("shopping.budget", "two and a half thousand", 2500),
        ("shopping.budget", "eighteen pounds fifty", 18.5),
        ("shopping.budget", "five five", None),
        ("shopping.budget", "thirty-seven two", None),
        ("appointment.minutes", "zero", None),
        ("shopping.budget", "a fiver", None),
        ("shopping.budget", "about fifty euros", 50),
        ("shopping.budget", "£60", 60),
        ("shopping.budget", "up to eighty quid", 80),
        ("shopping.budget", "two hundred and fifty", 250),
        ("shopping.budget", "between fifty and sixty", None),
        ("shopping.budget", "fifty kilometres", None),
        ("shopping.budget", "one point five million", 1_500_000),
        ("shopping.budget", "a million and a half", 1_500_000),
        ("shopping.budget", "a thousand and a half", None),
        ("shopping.budget", "ten grand", 10_000),
        ("shopping.budget", "5k pounds", 5000),
        ("shopping.budget", "two dozen", 24),
        ("shopping.budget", "half a dozen", 6),
        ("shopping.budget", "one half", 0.5),
        ("shopping.budget", "50-60", None),
        ("shopping.budget", "-5", None),
        ("medical.temperature", "38°", 38),
        ("medical.temperature", "a hundred and one point two", 101.2),
        ("medical.temperature", "thirty-seven thirty-eight", None),
        ("appointment.minutes", "five to ten minutes", None),
        ("appointment.minutes", "one thirty", None),
        ("appointment.minutes", "one twenty minutes", 120),
    ],
)
def test_a_number_is_read_with_its_unit(name: str, words: str, value: float | None) -> None:
    assert read(slot(name), words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [("four", 4), ("four hours", 4), ("ninety minutes", 1.5), ("half an hour", 0.5)],
)
def test_a_number_without_a_unit_is_in_the_one_that_the_question_asks_for(
    words: str, value: float
) -> None:
    stay = Slot.model_validate({"name": "stay", "type": "number", "ask": "For how many hours?"})
    assert read(stay, words, TODAY) == value
    age = stay.model_copy(update={"ask": "How many years old is it?"})
    assert read(age, "forty-seven years", TODAY) == 47


def test_a_minus_sign_is_read_as_the_word_is() -> None:
    outside = slot_of("number", unit="degrees")
    assert read(outside, "-5", TODAY) == read(outside, "minus five", TODAY) == -5
    assert read(slot_of("number"), "-£5", TODAY) == -5


def test_a_k_is_a_thousand_unless_a_length_is_asked_for() -> None:
    assert read(slot_of("number", unit="people"), "five k people", TODAY) == 5000
    assert read(slot_of("number", unit="kilometres"), "five k", TODAY) == 5


def test_another_unit_of_the_same_dimension_is_converted() -> None:
    weight = slot_of("number", unit="kilograms")
    assert read(weight, "five hundred grams", TODAY) == 0.5
    assert read(weight, "two kilos", TODAY) == 2
    assert read(weight, "two metres", TODAY) is None


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("at three", "15:00"),
        ("half past nine", "09:30"),
        ("quarter to eight in the evening", "19:45"),
        ("15:30", "15:30"),
        ("around ten o'clock", "10:00"),
        ("3 p.m.", "15:00"),
        ("noon", "12:00"),
        ("noonish", "12:00"),
        ("five and twenty past two", "14:25"),
        ("twenty-two hundred", "22:00"),
        ("zero six hundred", "06:00"),
        ("ten in the morning", "10:00"),
        ("in the morning", None),
        ("twenty minutes", None),
        ("three or four", None),
        ("the fifth", None),
        ("from five to six", None),
        ("from quarter to six", "17:45"),
    ],
)
def test_a_time_of_day_is_read(words: str, value: str | None) -> None:
    assert read(slot("appointment.time"), words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("no", False),
        ("Never.", False),
        ("not any more", False),
        ("Yes", True),
        ("y", True),
        ("I do", True),
        ("no, wait", None),
        ("only the curtains", None),
    ],
)
def test_yes_and_no_are_read(words: str, value: bool | None) -> None:
    assert read(slot("medical.smoker"), words, TODAY) is value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("car", "car"),
        ("Bus.", "bus"),
        ("ON FOOT", "on foot"),
        ("foot", "on foot"),
        ("bus or train", None),
        ("not the car", None),
        ("o", None),
    ],
)
def test_a_choice_is_read_if_its_words_name_only_one(words: str, value: str | None) -> None:
    assert read(slot("shopping.transport"), words, TODAY) == value


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("shopping.items", "milk, eggs and bread", ["milk", "eggs", "bread"]),
        ("shopping.items", "milk, tea, milk", ["milk", "tea"]),
        ("medical.medicines", "ibuprofen", ["ibuprofen"]),
        ("medical.medicines", "nothing", []),
        ("medical.allergies", "No.", []),
    ],
)
def test_a_list_is_read_item_by_item_and_may_be_empty(
    name: str, words: str, value: list[str]
) -> None:
    assert read(slot(name), words, TODAY) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("Doctor Smith", "Doctor Smith"),
        (" my boss, I think ", "my boss, I think"),
        ("x" * 400, "x" * 300),
        ("", None),
        (" ", None),
    ],
)
def test_a_text_is_stored_as_it_is_typed(words: str, value: str | None) -> None:
    assert read(slot("appointment.with"), words, TODAY) == value


@pytest.mark.parametrize("name", ["medical.since", "medical.severity", "shopping.transport"])
@pytest.mark.parametrize(
    "words",
    [
        "no idea",
        "I don't know.",
        "skip that",
        "I'd rather not say",
    ],
)
def test_not_knowing_and_not_telling_are_values(name: str, words: str) -> None:
    assert read(slot(name), words, TODAY) == UNKNOWN


@pytest.mark.parametrize(
    ("name", "value", "said", "written"),
    [
        (
            "medical.since",
            "2026-11-10",
            "Tuesday, the tenth of November",
            "Tuesday 10 November 2026",
        ),
        ("medical.since", "2026-03", "March 2026", "March 2026"),
        ("medical.since", "2026-11-17", "yesterday", "Tuesday 17 November 2026"),
        ("medical.born", "1980-05-03", "the third of May 1980", "Saturday 3 May 1980"),
        ("medical.temperature", 38.5, "thirty-eight point five degrees", "38.5 degrees"),
        ("medical.allergies", [], "none", "none"),
        ("medical.allergies", ["nuts", "my cat"], "nuts and your cat", "nuts, my cat"),
        ("medical.smoker", False, "no", "no"),
        ("medical.reason", "my knee", "your knee", "my knee"),
        ("medical.reason", UNKNOWN, "not known", "not known"),
        ("appointment.time", "15:30", "half past three in the afternoon", "15:30"),
        ("appointment.time", "00:00", "midnight", "00:00"),
        ("appointment.minutes", 1, "one minute", "1 minute"),
    ],
)
def test_values_are_put_into_words(name: str, value: Value, said: str, written: str) -> None:
    check_value(slot(name), value)
    assert spoken(slot(name), value, TODAY) == said
    assert shown(slot(name), value) == written


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("medical.since", "2026-13"),
        ("medical.since", "yesterday"),
        ("medical.since", 3),
        ("medical.severity", "seven"),
        ("medical.severity", True),
        ("medical.smoker", 1),
        ("medical.allergies", "nuts"),
        ("medical.allergies", [1]),
        ("appointment.time", "25:00"),
        ("shopping.transport", "plane"),
        ("medical.reason", None),
    ],
)
def test_a_stored_value_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        check_value(slot(name), value)
