"""A correction changes something unasked only if it is certain what it changes."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.intents.command import Command, CommandKind
from assistant.memory.curation.corrections import Correction
from assistant.memory.forgetting.answer_origins import AnsweredTurn
from assistant.memory.records.ids import fact_id
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.skills.memory import correcting
from tests.support.forgetting import START, Bench, bench
from tests.support.memories import stored
from tests.support.remains import found
from tests.support.scripted_model import ScriptedModel

ANNA = "My sister is called Anna."
KAREN = "My boss is called Karen."
PORTO = "I live in Porto."
WITH_ANNA = "I live in Porto with my sister Anna."
CODE = "My locker code is 4471."
TULIPS = "My niece loves tulips."
ROSES = "My niece loves roses."
NOT_IT = "All right, I'll leave it as it is."
WRONG = Command(CommandKind.CORRECT)
REMEMBER_THAT = Command(CommandKind.REMEMBER)
UNDO = Command(CommandKind.UNDO)


def correct(words: str) -> Command:
    return Command(CommandKind.CORRECT, words)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (ANNA, "it's very complicated"),
        (PORTO, "it's so ridiculous"),
        (PORTO, "it's a lie"),
        (KAREN, "he's an idiot"),
        (KAREN, "it's Tuesday"),
        (KAREN, "he should have asked me"),
        ("My boss told the team about my diagnosis.", "they should have asked me"),
        ("My boss told the team about my diagnosis.", "my boss never listens"),
        ("My boss told the team about my diagnosis.", "it's a disgrace"),
        ("My boss told the team about my diagnosis.", "it's so unfair"),
        ("My boss told the team about my diagnosis.", "it's not fair"),
        ("My boss told the team about my diagnosis.", "he's impossible"),
        ("My boss told the team about my diagnosis.", "they never listen"),
        ("My sister got a new job.", "my sister lives in Leeds"),
        (CODE, "I don't remember my locker code"),
        (CODE, "I don't know"),
        ("I have a dog.", "I have to get the door"),
        (ANNA, "she's pregnant"),
        (ANNA, "she's called a genius"),
    ],
)
async def test_a_remark_changes_nothing_and_goes_to_the_model(
    tmp_path: Path, told: str, words: str
) -> None:
    llm = ScriptedModel([json.dumps({"now": told.replace(".", " complicated.")})])
    async with bench(tmp_path, llm=llm) as here:
        here.tell(told)
        assert await here.obey(correct(words)) is None
        assert here.current() == {told}
        assert not llm.requests, "nobody had to wait for the language model"


async def test_a_day_never_replaces_a_name(here: Bench) -> None:
    here.tell("My boss Karen told the whole team.")
    await here.obey(correct("it's Friday"))
    assert here.current() == {"My boss Karen told the whole team."}


@pytest.mark.parametrize(
    ("told", "words", "question", "now"),
    [
        (ANNA, "it's hannah", "that your sister is called hannah", "My sister is called hannah."),
        (PORTO, "lisbon", "that you live in lisbon", "I live in lisbon."),
        (
            "My favourite colour is blue.",
            "it's green",
            "that your favourite colour is green",
            "My favourite colour is green.",
        ),
        ("I like tulips.", "it's roses", "that you like roses", "I like roses."),
        (ANNA, "Hannah", "that your sister is called Hannah", "My sister is called Hannah."),
        (ANNA, "Wrong. Hannah", "that your sister is called Hannah", "My sister is called Hannah."),
    ],
)
async def test_what_may_be_a_value_is_asked_about(
    here: Bench, told: str, words: str, question: str, now: str
) -> None:
    here.tell(told)
    assert await here.obey(correct(words)) == f"Shall I note {question} instead?"
    assert here.current() == {told}
    assert str(await here.answer("Yes.")).startswith("Got it: ")
    assert here.current() == {now}


@pytest.mark.parametrize(
    ("told", "words", "now"),
    [
        (ANNA, "it's Hannah", "My sister is called Hannah."),
        (ANNA, "she's called hannah", "My sister is called hannah."),
        (PORTO, "it's in Lisbon", "I live in Lisbon."),
        (PORTO, "it's Rio de Janeiro", "I live in Rio de Janeiro."),
        ("I drive a Volvo.", "it's a Honda", "I drive a Honda."),
        (KAREN, "Carol, not Karen", "My boss is called Carol."),
        (CODE, "it's 4472", "My locker code is 4472."),
        (CODE, "my locker code is 4472", "My locker code is 4472."),
        ("My dog is a beagle.", "my dog is a poodle", "My dog is a poodle."),
        (TULIPS, "my niece loves roses", ROSES),
        ("My sister lives in Leeds.", "my sister lives in York", "My sister lives in York."),
        ("I'm vegan.", "I'm not vegan", "I'm not vegan."),
        (CODE, "it's forty-four seventy-two", "My locker code is forty-four seventy-two."),
    ],
)
async def test_a_value_of_the_same_kind_and_the_same_relation_are_certain(
    here: Bench, told: str, words: str, now: str
) -> None:
    here.tell(told)
    assert str(await here.obey(correct(words))).startswith("Got it: ")
    assert here.current() == {now}


@pytest.mark.parametrize(
    ("told", "words", "question"),
    [
        (
            "My dentist appointment is on Monday.",
            "the dentist is on Tuesday",
            "You told me that your dentist appointment is on Monday. "
            "Shall I note that the dentist is on Tuesday instead?",
        ),
        (
            "I like tulips.",
            "I like roses",
            "Shall I note that you like roses instead?",
        ),
        ("I'm vegan.", "I'm tired", "Shall I note that you're tired instead?"),
        ("My car is red.", "my car is blue", "Shall I note that your car is blue instead?"),
        (
            "I work as a nurse in Berlin.",
            "I work as a doctor",
            "You told me that you work as a nurse in Berlin. "
            "Shall I note that you work as a doctor instead?",
        ),
        (
            "My appointment is on Monday morning.",
            "my appointment is on Tuesday",
            "You told me that your appointment is on Monday morning. "
            "Shall I note that your appointment is on Tuesday instead?",
        ),
        (
            WITH_ANNA,
            "I live in Lisbon",
            "Shall I note that you live in Lisbon with your sister Anna instead?",
        ),
        (
            "I have a meeting at nine.",
            "I have a dog",
            "You told me that you have a meeting at nine. "
            "Shall I note that you have a dog instead?",
        ),
    ],
)
async def test_a_likely_whole_statement_is_asked_about_and_names_what_would_be_lost(
    here: Bench, told: str, words: str, question: str
) -> None:
    here.tell(told)
    assert await here.obey(correct(words)) == question
    assert await here.answer("No.") == NOT_IT
    assert here.current() == {told}


async def test_what_else_the_sentence_said_stays_and_so_do_the_facts_derived_from_it(
    here: Bench,
) -> None:
    [exchange] = await here.tell_all(WITH_ANNA)
    sister, home = "The user's sister is called Anna.", "The user lives in Porto."
    facts = [
        Memory(fact_id(exchange.id, n), "ada", MemoryKind.FACT, t, START, sources=(exchange.id,))
        for n, t in enumerate((sister, home))
    ]
    await asyncio.to_thread(here.memory.put, facts, told=True)
    await here.obey(correct("I live in Lisbon"))
    assert await here.answer("Yes.") == "Got it: you live in Lisbon with your sister Anna."
    assert here.current() == {"I live in Lisbon with my sister Anna.", sister}
    await here.obey(UNDO)
    assert here.current() == {WITH_ANNA, sister, home}


@pytest.mark.parametrize(
    "words",
    ["I don't know.", "Well, I don't really remember.", "No idea.", "I'm not certain.", "Dunno."],
)
async def test_who_does_not_know_what_is_right_changes_nothing(here: Bench, words: str) -> None:
    here.tell(ANNA)
    await here.obey(WRONG)
    assert await here.give(words) == NOT_IT
    assert not here.skills.waits_for_answer
    assert here.current() == {ANNA}


@pytest.mark.parametrize(
    "words",
    [
        "I have to get the door.",
        "I need to go to the shop now.",
        "I don't know which of them it was.",
    ],
)
async def test_what_only_concerns_the_moment_is_no_answer(here: Bench, words: str) -> None:
    here.tell(ANNA)
    await here.obey(WRONG)
    assert await here.give(words) is None
    assert here.current() == {ANNA}


@pytest.mark.parametrize(
    "words",
    [
        "I have no idea.",
        "I don't remember it right now.",
        "To be honest, I don't know.",
        "I forgot.",
    ],
)
async def test_who_does_not_know_what_to_remember_stores_nothing(here: Bench, words: str) -> None:
    await here.obey(REMEMBER_THAT)
    assert await here.give(words) == "All right."
    assert here.current() == set()


async def test_what_somebody_cannot_do_is_not_dropped_without_a_word(here: Bench) -> None:
    await here.obey(REMEMBER_THAT)
    assert await here.give("I don't know any French.") is None, "an ordinary turn, which is stored"


async def test_an_idea_can_be_remembered(here: Bench) -> None:
    await here.obey(REMEMBER_THAT)
    assert str(await here.give("I have an idea for the garden.")).startswith("I'll remember")


@pytest.mark.parametrize(
    ("told", "answer", "now"),
    [
        (ANNA, "Hannah.", "your sister is called Hannah"),
        (ANNA, "Later.", "your sister is called Later"),
        (ANNA, "Paul James Dean.", "your sister is called Paul James Dean"),
        (PORTO, "Ridiculous.", "you live in Ridiculous"),
    ],
)
async def test_a_name_alone_answers_what_is_right_but_any_first_word_has_a_capital(
    here: Bench, told: str, answer: str, now: str
) -> None:
    here.tell(told)
    await here.obey(WRONG)
    assert await here.give(answer) == f"Shall I note that {now} instead?"
    assert here.current() == {told}
    assert str(await here.answer("Yes.")).startswith(f"Got it: {now}, not ")


@pytest.mark.parametrize(
    ("told", "words", "now"),
    [
        (TULIPS, "roses", "loves roses"),
        (TULIPS, "red roses", "loves red roses"),
        (TULIPS, "it's roses", "loves roses"),
        ("My niece wants a cat.", "it's a dog", "wants a dog"),
    ],
)
async def test_a_value_without_a_name_is_put_in_by_the_model(
    tmp_path: Path, told: str, words: str, now: str
) -> None:
    llm = ScriptedModel([json.dumps({"now": f"My niece {now}."})])
    async with bench(tmp_path, llm=llm) as here:
        here.tell(told)
        assert await here.obey(correct(words)) == f"Shall I note that your niece {now} instead?"


async def test_off_the_record_too_the_model_answers_a_remark(here: Bench) -> None:
    here.tell(KAREN)
    here.off_record[0] = True
    for remark in ("he's an idiot", "he should have asked me", "it's Tuesday"):
        assert await here.obey(correct(remark)) is None
    for value in ("it's Carol", "carol"):
        assert str(await here.obey(correct(value))).startswith("We're off the record")


async def test_who_goes_on_while_the_model_thinks_is_not_asked_and_nothing_changes(
    tmp_path: Path,
) -> None:
    go_on = asyncio.Event()
    llm = ScriptedModel([json.dumps({"now": ROSES})], waits_for=go_on)
    async with bench(tmp_path, llm=llm) as here:
        here.tell(TULIPS)
        command = asyncio.create_task(here.obey(correct("it's roses")))
        await llm.writing.wait()
        here.skills.turn_began()
        go_on.set()
        assert await command == ""
        assert not here.skills.waits_for_answer
        assert here.current() == {TULIPS}


async def test_a_slow_model_is_not_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert correcting.MODEL_S <= 2
    monkeypatch.setattr(correcting, "MODEL_S", 0.01)
    llm = ScriptedModel([json.dumps({"now": ROSES})], waits_for=asyncio.Event())
    async with bench(tmp_path, llm=llm) as here:
        here.tell(TULIPS)
        asked = await here.obey(correct("it's roses"))
        assert asked == "I'm not sure what to change. What should it be?"
        assert llm.cancelled == 1
        assert here.current() == {TULIPS}


@pytest.mark.parametrize("stage", ["before", "while stored"])
async def test_what_was_forgotten_meanwhile_is_not_stored_again(
    tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as here:
        here.tell(CODE)
        await here.memory.settled()
        [correction] = await here.statements.corrections("it's 4472", here.turns.all())
        ids = [each.id for each in stored(here.memory.table) if each.text == CODE]
        exchange = here.window.exchanges[0].id

        async def forget() -> None:
            await here.forgetting.hide([exchange], ids)

        if stage == "before":
            await forget()
        else:
            loop, put = asyncio.get_running_loop(), here.memory.put

            def slowly(memories: list[Memory], *, told: bool = False) -> list[str]:
                asyncio.run_coroutine_threadsafe(forget(), loop).result()
                return put(memories, told=told)

            monkeypatch.setattr(here.memory, "put", slowly)
        assert await here.statements.correct(correction, here.turns.all()) is None
        assert here.current() == set()
        assert await here.purge_later()
    assert found(tmp_path, {" 4471", " 4472", "locker"}, []) == []


async def test_it_says_so_if_what_is_corrected_was_forgotten(here: Bench) -> None:
    here.tell(ANNA)
    await here.memory.settled()
    command = here.obey(correct("it's Hannah"))
    corrections = here.statements.corrections

    async def forgotten_then(words: str, turns: Sequence[AnsweredTurn]) -> list[Correction]:
        found = await corrections(words, turns)
        ids = [each.id for each in stored(here.memory.table)]
        await here.forgetting.hide([here.window.exchanges[0].id], ids)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(here.statements, "corrections", forgotten_then)
        assert str(await command).startswith("That has been forgotten in the meantime")
    assert here.current() == set()
