"""Exact answers: the time, the date and calculations, without the language model."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from assistant.intents import Command, CommandKind
from assistant.skills import ExactAnswers

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=ZoneInfo("Europe/London"))


async def answer(
    kind: CommandKind,
    *,
    words: str | None = None,
    when: str | None = None,
    name: str | None = None,
    now: datetime = NOW,
) -> str | None:
    reply = await ExactAnswers(lambda: now).carry_out(
        Command(kind, words=words, when=when, name=name)
    )
    return reply.text if reply else None


@pytest.mark.parametrize(
    ("hour", "minute", "sentence"),
    [
        (10, 20, "It's twenty past ten."),
        (0, 0, "It's midnight."),
        (12, 0, "It's noon."),
        (19, 45, "It's quarter to eight."),
        (7, 4, "It's seven oh four."),
    ],
)
async def test_the_time_is_said_as_people_say_it(hour: int, minute: int, sentence: str) -> None:
    now = NOW.replace(hour=hour, minute=minute)
    assert await answer(CommandKind.TIME, now=now) == sentence
    assert await answer(CommandKind.TIME, name="here", now=now) == sentence


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("Lagos", "It's twenty past eleven in the morning in Lagos."),
        ("Vancouver", "It's twenty past two in the morning in Vancouver."),
        ("India", "It's ten to four in the afternoon in India."),
        ("Washington, D.C.", "It's twenty past five in the morning in Washington, D.C."),
        ("Narnia", "I don't know the time there."),
        ("the US", "I don't know the time there."),
    ],
)
async def test_the_time_at_a_place_is_that_of_its_zone(place: str, sentence: str) -> None:
    assert await answer(CommandKind.TIME, name=place) == sentence


async def test_the_day_is_said_where_it_is_another_one() -> None:
    late = NOW.replace(hour=22)
    sentence = "It's twenty past seven in the morning on Thursday in Tokyo."
    assert await answer(CommandKind.TIME, name="Tokyo", now=late) == sentence


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        (None, "It's Wednesday, the eighteenth of November."),
        ("today", "It's Wednesday, the eighteenth of November."),
        ("year", "It's Wednesday, the eighteenth of November, twenty twenty-six."),
        ("which week", None),
        ("week", "It's week forty-seven."),
        ("next Friday", "Next Friday is the twenty-seventh of November."),
        ("a week on Friday", "That's Friday, the twenty-seventh of November."),
        ("yesterday", "That was Tuesday, the seventeenth of November."),
        ("New Year's Eve", "That's Thursday, the thirty-first of December."),
        ("the 3rd of March", "That's Wednesday, the third of March."),
        ("the 25th of December this year", "That's Friday, the twenty-fifth of December."),
        ("the 1st of May 2028", "That's Monday, the first of May, twenty twenty-eight."),
        ("the 30th of February", None),
        ("the party", None),
    ],
)
async def test_the_date_is_said_with_its_weekday(when: str | None, sentence: str | None) -> None:
    assert await answer(CommandKind.DATE, when=when) == sentence


@pytest.mark.parametrize(
    ("year", "words"),
    [
        (2005, "two thousand and five"),
        (2000, "two thousand"),
        (2030, "twenty thirty"),
        (2107, "twenty-one oh seven"),
        (2100, "twenty-one hundred"),
    ],
)
async def test_years_are_said_as_people_say_them(year: int, words: str) -> None:
    said = await answer(CommandKind.DATE, when="year", now=NOW.replace(year=year))
    assert said is not None
    assert said.endswith(f"the eighteenth of November, {words}.")


async def test_a_calculation_is_answered_in_one_sentence() -> None:
    assert await answer(CommandKind.CALCULATE, words="15% of 80") == "That's twelve."
    days = "days until Christmas"
    assert await answer(CommandKind.CALCULATE, words=days) == "That's thirty-seven days."


@pytest.mark.parametrize("words", [None, "how many calories in an apple", "12 13"])
async def test_what_is_not_understood_is_left_to_the_language_model(words: str | None) -> None:
    assert await answer(CommandKind.CALCULATE, words=words) is None


async def test_an_unsure_command_is_an_ordinary_turn() -> None:
    skill = ExactAnswers(lambda: NOW)
    for kind in skill.kinds:
        assert await skill.ask(Command(kind, words="15% of 80")) is None


async def test_in_other_languages_the_language_model_answers() -> None:
    skill = ExactAnswers(lambda: NOW, english=False)
    assert await skill.carry_out(Command(CommandKind.TIME)) is None
