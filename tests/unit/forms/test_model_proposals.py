"""The language model points to words; rules read them, and check that they may fill a slot."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from assistant.context import Exchange
from assistant.errors import ModelFailed
from assistant.forms import Form, FormLibrary, ModelProposals, Proposal, Value, Way
from assistant.forms.model_proposals import SCHEMA, copied, find, meant, prompt
from models.interfaces import Lane
from tests.support.scripted_model import ScriptedModel

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
TODAY = date(2026, 3, 18)


def form(key: str) -> Form:
    found = FormLibrary(Path("no-such-folder")).get(key)
    assert found is not None
    return found


INTAKE, TRIP = form("medical_intake"), form("shopping_trip")


def answer(*words: str) -> str:
    return json.dumps({"words": words})


async def proposed(
    llm: ScriptedModel,
    of: Form,
    asked: str,
    said: str,
    filled: Mapping[str, Value] | None = None,
) -> list[Proposal]:
    return await ModelProposals(llm)(of, filled or {}, asked, Exchange("x", 1, said, NOON))


RAMBLING = "well it's these dizzy spells I've been having, when I get out of the chair mostly"


async def test_a_text_is_taken_from_the_words_to_which_the_model_points() -> None:
    llm = ScriptedModel([answer("dizzy spells I've been having")])
    [found] = await proposed(llm, INTAKE, "reason", RAMBLING)
    assert (found.slot, found.value) == ("reason", "dizzy spells I've been having")
    assert found.words in RAMBLING
    assert not found.whole


async def test_items_come_one_by_one_and_are_added_to_the_list() -> None:
    llm = ScriptedModel([answer("ibuprofen", "vitamin D drops")])
    said = "my husband takes aspirin, but me, I only have ibuprofen, oh and those vitamin D drops"
    found = await proposed(llm, INTAKE, "medicines", said)
    assert [(each.value, each.way) for each in found] == [
        (["ibuprofen"], Way.ADD),
        (["vitamin D drops"], Way.ADD),
    ]


async def test_the_value_of_a_typed_slot_is_read_by_rules() -> None:
    llm = ScriptedModel([answer("let's say nine")])
    said = "oh yeah it opens at six but no way let's say nine"
    found = await proposed(llm, TRIP, "time", said)
    assert [each.value for each in found] == ["09:00"]


async def test_words_that_were_not_said_fill_nothing() -> None:
    llm = ScriptedModel([answer("a sore throat")])
    assert await proposed(llm, INTAKE, "reason", RAMBLING) == []


async def test_words_about_other_people_fill_nothing_even_if_the_model_points_to_them() -> None:
    llm = ScriptedModel([answer("aspirin")])
    said = "my husband takes aspirin, and I've got a few things in the cupboard somewhere"
    assert await proposed(llm, INTAKE, "medicines", said) == []


@pytest.mark.parametrize(
    "said",
    ["is it going to rain today?", "my neighbour has a temperature of thirty nine, poor thing"],
)
async def test_the_model_is_not_asked_about_what_cannot_fill_the_form(said: str) -> None:
    llm = ScriptedModel([answer("thirty nine")])
    proposals = ModelProposals(llm)
    assert await proposals(INTAKE, {}, "temperature", Exchange("x", 1, said, NOON)) == []
    assert proposals.asked == 0
    assert llm.requests == []


def test_the_model_is_not_asked_about_what_the_rules_fill() -> None:
    said = "my temperature is thirty eight"
    assert meant(INTAKE, {}, "temperature", said, TODAY) == []


def test_it_is_also_asked_about_a_slot_that_the_user_names() -> None:
    said = "before I forget it, those tablets for the allergy make me sleepy"
    named = {slot.name: words for slot, words in meant(INTAKE, {}, "reason", said, TODAY)}
    assert set(named) >= {"reason", "medicines"}
    assert "before I forget" not in named["medicines"]


async def test_what_stays_the_same_comes_first_and_is_the_same_for_every_form() -> None:
    llm = ScriptedModel([answer()])
    await proposed(llm, INTAKE, "reason", RAMBLING)
    await proposed(llm, TRIP, "shop", "you know, I want to go down to the big Tesco by the river")
    first, second = llm.requests
    assert first.messages[:-1] == second.messages[:-1]
    assert first.json_schema == second.json_schema == SCHEMA
    assert {first.lane, second.lane} == {Lane.BACKGROUND}


@pytest.mark.parametrize("answered", [{}, {"words": "knee"}, ["knee"], None])
def test_an_answer_in_another_form_is_an_error(answered: object) -> None:
    with pytest.raises(ModelFailed):
        copied(answered)


@pytest.mark.parametrize(
    ("part", "there"),
    [
        ("Last tuesday", "last Tuesday"),
        ("i don't smoke", "I don’t smoke"),
        ("since last Tuesday.", "since last Tuesday"),
        ("last Monday", None),
        ("", None),
    ],
)
def test_parts_are_found_in_spite_of_case_and_punctuation(part: str, there: str | None) -> None:
    said = "Oh, since last Tuesday; and I don’t smoke"
    at = find(part, said)
    assert (said[slice(*at)] if at else None) == there


async def test_it_can_be_cancelled_while_the_model_writes() -> None:
    llm = ScriptedModel([answer("dizzy spells")], waits_for=asyncio.Event())
    task = asyncio.create_task(proposed(llm, INTAKE, "reason", RAMBLING))
    await llm.writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert llm.cancelled == 1


def test_the_examples_answer_with_words_that_were_said() -> None:
    shown: Sequence[tuple[str, str]] = prompt().examples
    for asked, answered in shown:
        said = asked.partition("\nSaid: ")[2]
        assert all(each in said for each in json.loads(answered)["words"])
    assert any(json.loads(answered)["words"] == [] for _, answered in shown)
