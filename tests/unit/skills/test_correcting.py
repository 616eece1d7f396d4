"""What the user says is wrong, on a real transcript, a real table and a real index."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assistant.errors import ModelFailed
from assistant.intents.command import Command, CommandKind
from assistant.memory.curation.correction_values import Corrected
from assistant.memory.curation.corrections import Correction
from assistant.memory.records.ids import fact_id
from assistant.memory.records.memory import Memory, MemoryKind
from tests.support.forgetting import START, Bench, bench
from tests.support.memories import stored
from tests.support.remains import found
from tests.support.scripted_model import ScriptedModel

HANNAH = "My sister is called Hannah."
ANNA = "My sister is called Anna."
MONDAY = "My appointment is on Monday."
WHO = "What is my sister called?"
WHEN = "When is my appointment?"
UNDO = Command(CommandKind.UNDO)
UNCLEAR = "I'm not sure what to change. What should it be?"
WRONG = Command(CommandKind.CORRECT)


def correct(words: str) -> Command:
    return Command(CommandKind.CORRECT, words)


async def told(here: Bench, *said: str) -> None:
    """Tell these in an earlier conversation, as seen from the running one."""
    await here.tell_all(*said)
    here.window.talk.hide([each.id for each in here.window.exchanges])
    here.pass_time(3600)


async def test_a_whole_statement_supersedes_what_the_answer_was_based_on(here: Bench) -> None:
    await told(here, HANNAH, MONDAY)
    await here.ask(WHO, "Your sister is called Hannah.")
    said = await here.obey(correct("no, my sister is called Anna"))
    assert said == "Got it: your sister is called Anna, not Hannah."
    assert here.current() == {ANNA, MONDAY, WHO}
    [old] = [each for each in stored(here.memory.table) if each.text == HANNAH]
    [new] = [each for each in stored(here.memory.table) if each.text == ANNA]
    assert old.superseded_by == new.id
    assert old.id in new.supersedes


async def test_the_answer_that_repeated_it_is_superseded_too(here: Bench) -> None:
    await told(here, HANNAH)
    asked = await here.ask(WHO, "Your sister is called Hannah.")
    await here.obey(correct("it's Anna"))
    answer = here.memory.index.outlines({asked.id})[f"{asked.id}-assistant"]
    assert answer.superseded_by is not None
    await here.obey(UNDO)
    answer = here.memory.index.outlines({asked.id})[f"{asked.id}-assistant"]
    assert answer.superseded_by is None


async def test_the_answer_is_superseded_although_the_statement_says_more(here: Bench) -> None:
    [exchange] = await here.tell_all("My sister in Leeds is called Hannah.")
    derived = "The user's sister is called Hannah."
    key = fact_id(exchange.id, 0)
    fact = Memory(key, "ada", MemoryKind.FACT, derived, START, sources=(exchange.id,))
    await asyncio.to_thread(here.memory.put, [fact])
    asked = await here.ask(WHO, "Your sister is called Hannah.")
    old = [here.memory.index.outlines()[each] for each in (f"{exchange.id}-user", key)]
    correction = Correction(Corrected(ANNA), tuple(old))
    await here.statements.correct(correction, here.turns.all())
    answer = here.memory.index.outlines({asked.id})[f"{asked.id}-assistant"]
    assert answer.superseded_by is not None


async def test_a_part_is_put_into_the_old_statement(here: Bench) -> None:
    await told(here, MONDAY, HANNAH)
    await here.ask(WHEN, "Your appointment is on Monday.")
    said = await here.obey(correct("it's Tuesday"))
    assert said == "Got it: your appointment is on Tuesday, not Monday."
    assert here.current() == {"My appointment is on Tuesday.", HANNAH, WHEN}


async def test_what_was_said_just_now_is_corrected(here: Bench) -> None:
    here.tell(HANNAH)
    said = await here.obey(correct("Anna, not Hannah"))
    assert said == "Got it: your sister is called Anna, not Hannah."
    assert here.current() == {ANNA}


async def test_what_was_asked_about_is_corrected_after_a_bad_answer(here: Bench) -> None:
    await told(here, "My locker code is 4471.")
    await here.ask("What is my locker code?", "I don't know your locker code.")
    said = await here.obey(correct("it's 4472"))
    assert said == "Got it: your locker code is 4472, not 4471."


async def test_what_else_was_said_is_kept(here: Bench) -> None:
    await told(here, "My sister is called Hannah and I live in Bonn.")
    await here.ask(WHO, "Hannah.")
    await here.obey(correct("my sister is called Anna"))
    assert here.current() == {"My sister is called Anna and I live in Bonn.", WHO}


async def test_facts_derived_from_the_old_statement_are_superseded_whenever_they_are_derived(
    here: Bench,
) -> None:
    [exchange] = await here.tell_all(HANNAH)
    text = "The user's sister is called Hannah."
    early, late = (
        Memory(fact_id(exchange.id, n), "ada", MemoryKind.FACT, text, START, sources=(exchange.id,))
        for n in (0, 1)
    )
    await asyncio.to_thread(here.memory.put, [early])
    await here.obey(correct("it's Anna"))
    assert here.current() == {ANNA}
    await asyncio.to_thread(here.memory.put, [late], told=True)
    assert here.current() == {ANNA}


async def test_undo_restores_the_old_statement_and_leaves_no_byte_of_the_new_one(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        here.tell(HANNAH)
        await here.obey(correct("it's Anna"))
        assert await here.obey(UNDO) == "All right: your sister is called Hannah, as before."
        assert here.current() == {HANNAH}
        assert await here.forgetting.purge_due()
    async with bench(tmp_path) as again:
        assert again.current() == {HANNAH}
        [row] = [each for each in stored(again.memory.table) if each.text == HANNAH]
        assert row.superseded_by is None
    assert found(tmp_path, {"called Anna"}, []) == []


async def test_after_an_undo_the_answer_can_be_corrected_again(here: Bench) -> None:
    await told(here, HANNAH)
    await here.ask(WHO, "I'm sorry, I don't know.")
    await here.obey(correct("it's Anna"))
    await here.obey(UNDO)
    assert await here.forgetting.purge_due()
    assert await here.obey(WRONG) == "Sorry about that. What should it be?"
    assert await here.give("It's Johanna.") == (
        "Got it: your sister is called Johanna, not Hannah."
    )


async def test_undo_says_nothing_of_what_was_forgotten_meanwhile(here: Bench) -> None:
    await told(here, HANNAH)
    await here.ask(WHO, "Hannah.")
    await here.obey(correct("it's Anna"))
    every = here.memory.index.outlines().values()
    gone = [each.id for each in every if each.text in (HANNAH, ANNA)]
    await here.forgetting.hide((), gone)
    assert await here.obey(UNDO) == "There is nothing left to bring back."
    assert {each.text for each in stored(here.memory.table) if each.superseded_by} >= {HANNAH}
    assert here.current() == {WHO}


async def test_undo_restores_all_at_once(here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await told(here, HANNAH)
    await here.ask(WHO, "Your sister is called Hannah.")
    await here.obey(correct("it's Anna"))
    restored: list[int] = []
    change = here.memory.change

    def counted(ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        restored.append(len(ids))
        return change(ids, how)

    monkeypatch.setattr(here.memory, "change", counted)
    await here.obey(UNDO)
    assert restored == [2], "the statement and the answer"
    assert here.current() == {HANNAH, WHO}


async def test_a_correction_can_be_corrected_and_both_undone(here: Bench) -> None:
    await told(here, HANNAH)
    await here.ask(WHO, "Hannah.")
    await here.obey(correct("it's Anna"))
    assert await here.obey(correct("it's Johanna")) == (
        "Got it: your sister is called Johanna, not Anna."
    )
    assert here.current() == {"My sister is called Johanna.", WHO}
    await here.ask(WHO, "Johanna.")
    said = await here.obey(correct("my sister is called Hanna"))
    assert said == "Got it: your sister is called Hanna, not Johanna."
    for name in ("Johanna", "Anna", "Hannah"):
        said = await here.obey(UNDO)
        assert said == f"All right: your sister is called {name}, as before."
        assert here.current() == {f"My sister is called {name}.", WHO}


async def test_after_a_restart_the_correction_holds(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.tell(HANNAH)
        await here.obey(correct("it's Anna"))
    async with bench(tmp_path) as again:
        await asyncio.to_thread(again.memory.rebuild, again.transcript)
        assert again.current() == {ANNA}


@pytest.mark.parametrize("command", ["that", "topic", "old words"])
async def test_forgetting_a_corrected_statement_deletes_both(tmp_path: Path, command: str) -> None:
    async with bench(tmp_path) as here:
        await told(here, HANNAH)
        await here.ask(WHO, "Hannah.")
        await here.obey(correct("it's Anna"))
        here.pass_time(60)
        await here.ask(WHO, "Your sister is called Anna.")
        how = {
            "that": Command(CommandKind.FORGET_THAT),
            "topic": Command(CommandKind.FORGET_ABOUT, "my sister"),
            "old words": Command(CommandKind.FORGET_ABOUT, "Hannah"),
        }
        said = str(await here.obey(how[command]))
        if not said.startswith("Forgotten"):
            said = str(await here.answer("Yes."))
        assert said.startswith("Forgotten"), said
        assert "Anna" not in str(here.current())
        assert await here.purge_later()
        assert here.current() <= {WHO}
    assert found(tmp_path, {"called Hannah", "called Anna"}, []) == []


async def test_without_words_it_asks_what_is_right(here: Bench) -> None:
    await told(here, HANNAH)
    await here.ask(WHO, "Hannah.")
    assert await here.obey(WRONG) == "Sorry about that. What should it be?"
    assert await here.give("It's Anna.") == "Got it: your sister is called Anna, not Hannah."
    assert here.current() == {ANNA, WHO}
    assert await here.obey(UNDO) == "All right: your sister is called Hannah, as before."
    await here.obey(WRONG)
    said = await here.give("My cousin lives in Bonn.")
    assert said == "I'll remember that your cousin lives in Bonn."
    assert HANNAH in here.current(), "it says nothing about the sister"


@pytest.mark.parametrize("words", ["It's Anna.", "My cousin lives in Bonn."])
async def test_off_the_record_an_answer_corrects_and_stores_nothing(
    here: Bench, words: str
) -> None:
    here.tell(HANNAH)
    await here.obey(WRONG)
    here.off_record[0] = True
    assert str(await here.give(words)).startswith("We're off the record")
    assert here.current() == {HANNAH}


async def test_off_the_record_the_model_answers_unless_something_stored_is_meant(
    here: Bench,
) -> None:
    await told(here, HANNAH)
    here.off_record[0] = True
    here.tell("What is the capital of Norway?", "Bergen.")
    for command in (WRONG, correct("it's Oslo"), correct("the capital is Oslo")):
        assert await here.obey(command) is None
    await here.ask(WHO, "Your sister is called Hannah.")
    for command in (WRONG, correct("it's Anna"), correct("my sister is called Anna")):
        assert str(await here.obey(command)).startswith("We're off the record")


async def test_it_asks_only_once_what_is_right(here: Bench) -> None:
    here.tell("My niece loves tulips.")
    assert await here.obey(correct("it's roses")) == UNCLEAR
    assert await here.give("Roses.") is None
    assert not here.skills.waits_for_answer
    await here.obey(WRONG)
    assert await here.give("Roses.") is None
    assert here.current() == {"My niece loves tulips."}


async def test_if_nothing_stored_is_behind_the_answer_the_model_answers(here: Bench) -> None:
    await told(here, HANNAH)
    here.tell("What is the capital of Norway?", "Bergen.")
    assert await here.obey(WRONG) is None
    assert await here.obey(correct("it's Oslo")) is None
    assert await here.obey(correct("the capital is Oslo")) is None
    assert await here.obey(WRONG, sure=False) is None
    assert here.current() == {HANNAH, "What is the capital of Norway?"}


async def test_of_two_candidates_both_are_named_and_one_is_chosen(here: Bench) -> None:
    await told(here, MONDAY, "My haircut is on Friday.")
    await here.ask(
        "When are my appointment and my haircut?",
        "Your appointment is on Monday and your haircut is on Friday.",
    )
    said = await here.obey(correct("it's Tuesday"))
    assert said is not None
    assert said.startswith("Which is wrong: that your ")
    assert "appointment is on Monday" in said
    assert "haircut is on Friday" in said
    assert await here.answer("The haircut.") == "Got it: your haircut is on Tuesday, not Friday."
    assert MONDAY in here.current()


async def test_a_name_is_corrected_in_the_profile(here: Bench) -> None:
    here.tell("My name is Hanna.")
    said = await here.obey(correct("my name is Anna"))
    assert said == "Got it: your name is Anna, not Hanna."
    assert [each.text for each in here.memory.profile()] == ["The user's name is Anna."]
    await here.obey(UNDO)
    assert [each.text for each in here.memory.profile()] == ["The user's name is Hanna."]


async def test_the_correction_of_a_pinned_memory_is_pinned(here: Bench) -> None:
    here.tell(HANNAH)
    await here.obey(Command(CommandKind.REMEMBER, for_good=True))
    await here.obey(correct("it's Anna"))
    assert [each.text for each in here.memory.profile()] == [ANNA]


async def test_if_it_is_unsure_it_asks(here: Bench) -> None:
    here.tell(HANNAH)
    question = "Shall I note that your sister is called Anna instead?"
    assert await here.obey(correct("it's Anna"), sure=False) == question
    assert await here.answer("No.") == "All right, I'll leave it as it is."
    assert here.current() == {HANNAH}
    await here.obey(correct("it's Anna"), sure=False)
    assert await here.answer("Yes.") == "Got it: your sister is called Anna, not Hannah."
    await here.obey(UNDO)
    question = "Did I get this wrong: your sister is called Hannah?"
    assert await here.obey(WRONG, sure=False) == question
    assert await here.answer("Yes.") == "Sorry about that. What should it be?"


@pytest.mark.parametrize(
    ("proposed", "stored_text"),
    [
        ("My niece loves roses.", "My niece loves roses."),
        ("My niece loves red roses.", None),
        ("Roses.", None),
        ("My niece loves tulips.", None),
        ("My nephew loves roses.", None),
        ("", None),
    ],
)
async def test_the_models_sentence_is_taken_only_if_it_adds_nothing(
    tmp_path: Path, proposed: str, stored_text: str | None
) -> None:
    llm = ScriptedModel([json.dumps({"now": proposed})])
    async with bench(tmp_path, llm=llm) as here:
        here.tell("My niece loves tulips.")
        said = await here.obey(correct("it's roses"))
        if stored_text is None:
            assert said == UNCLEAR
            assert here.current() == {"My niece loves tulips."}
            said = await here.give("My niece loves roses.")
        else:
            assert said == "Shall I note that your niece loves roses instead?"
            assert here.current() == {"My niece loves tulips."}
            said = await here.answer("Yes.")
        assert said is not None
        assert said.startswith("Got it: your niece loves roses")
        assert here.current() == {"My niece loves roses."}


@pytest.mark.parametrize("answer", ["nonsense", "[]", '{"now": 3}', ModelFailed("It is gone.")])
async def test_if_the_model_fails_the_user_is_asked(
    tmp_path: Path, answer: str | Exception
) -> None:
    async with bench(tmp_path, llm=ScriptedModel([answer])) as here:
        here.tell("My niece loves tulips.")
        assert await here.obey(correct("it's roses")) == UNCLEAR
