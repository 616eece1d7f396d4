"""A correction concerns one part of what was said. Everything else that was said still counts."""

import asyncio

import pytest

from assistant.context.conversation import Exchange
from assistant.intents.command import Command, CommandKind
from assistant.memory.records.ids import fact_id
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.turn_recall import TurnRecall
from tests.support.forgetting import START, Bench
from tests.support.patience import LEISURE_S

HANNAH = "My sister is called Hannah."
BOTH = "My sister is called Hannah and I live in Bonn."
WHO = "What is my sister called?"
SISTER_FACT = "The user's sister is called Hannah."
HOME_FACT = "The user lives in Bonn."
UNDO = Command(CommandKind.UNDO)


def correct(words: str) -> Command:
    return Command(CommandKind.CORRECT, words)


async def derive(here: Bench, exchange: Exchange, *texts: str, first: int = 0) -> None:
    """Store facts that idle work derived from an exchange."""
    facts = [
        Memory(fact_id(exchange.id, n), "ada", MemoryKind.FACT, t, START, sources=(exchange.id,))
        for n, t in enumerate(texts, first)
    ]
    await asyncio.to_thread(here.memory.put, facts, told=True)


async def told(here: Bench, *said: str) -> list[Exchange]:
    """Tell these in an earlier conversation, as seen from the running one."""
    exchanges = await here.tell_all(*said)
    here.window.talk.hide([each.id for each in here.window.exchanges])
    here.pass_time(3600)
    return exchanges


@pytest.mark.parametrize("early", [True, False])
async def test_only_facts_about_what_was_wrong_are_superseded(here: Bench, early: bool) -> None:
    [exchange] = await here.tell_all(BOTH)
    if early:
        await derive(here, exchange, SISTER_FACT, HOME_FACT)
    await here.obey(correct("my sister is called Anna"))
    if not early:
        await derive(here, exchange, SISTER_FACT, HOME_FACT)
    assert here.current() == {"My sister is called Anna and I live in Bonn.", HOME_FACT}


async def test_a_fact_in_the_prompt_is_superseded_only_if_it_was_wrong(here: Bench) -> None:
    [exchange] = await told(here, BOTH)
    await derive(here, exchange, SISTER_FACT, HOME_FACT)
    await here.ask("Is my sister Hannah with me in Bonn?", "Yes, Hannah is with you in Bonn.")
    await here.obey(correct("my sister is called Anna"))
    assert HOME_FACT in here.current()
    assert SISTER_FACT not in here.current()
    await here.obey(UNDO)
    assert {BOTH, SISTER_FACT, HOME_FACT} <= here.current()


async def test_each_of_two_corrections_supersedes_its_own_fact(here: Bench) -> None:
    [exchange] = await here.tell_all("My sister is called Hannah and my dog is called Max.")
    await here.obey(correct("my dog is called Rex"))
    await derive(here, exchange, SISTER_FACT, "The user's dog is called Max.")
    twice = "My sister is called Hannah and my dog is called Rex."
    assert here.current() == {twice, SISTER_FACT}
    await here.obey(correct("my sister is called Anna"))
    await derive(here, exchange, SISTER_FACT, "The user's dog is called Max.", first=2)
    assert here.current() == {"My sister is called Anna and my dog is called Rex."}


async def test_of_several_statements_that_are_wrong_nothing_else_is_lost(here: Bench) -> None:
    await told(here, HANNAH, "My sister is called Hannah and my dog is called Max.")
    await here.ask(WHO, "Your sister is called Hannah.")
    said = await here.obey(correct("my sister is called Anna"))
    assert said is not None
    assert said.startswith("Got it: your sister is called Anna")
    [now] = here.current() - {WHO}
    assert "My sister is called Anna" in now
    assert "y dog is called Max" in now
    assert "Hannah" not in now
    again = await here.obey(correct("my sister is called Johanna"))
    assert again is not None
    assert again.startswith("Got it: your sister is called Johanna")
    [now] = here.current() - {WHO}
    assert "My sister is called Johanna" in now
    assert "y dog is called Max" in now
    assert "Anna" not in now
    await here.obey(UNDO)
    await here.obey(UNDO)
    assert HANNAH in here.current()


@pytest.mark.parametrize("question", [WHO, "Write a card for the birthday."])
async def test_what_was_corrected_is_marked_while_the_prompt_shows_the_old_words(
    here: Bench, question: str
) -> None:
    exchange = here.tell(HANNAH)
    shown = {exchange.id}
    recall = TurnRecall(here.memory, lambda: shown, least_score=100)

    async def corrections() -> list[str]:
        found = (await recall.recall(question, LEISURE_S)).memories
        return [each.text for each in found if each.corrects and each.near]

    assert await corrections() == []
    await here.obey(correct("it's Anna"))
    assert await corrections() == ["My sister is called Anna."]
    await here.obey(correct("it's Johanna"))
    assert await corrections() == ["My sister is called Johanna."]
    await here.obey(UNDO)
    assert await corrections() == ["My sister is called Anna."]
    here.window.talk.hide(shown)
    shown = set()
    assert await corrections() == [], "the prompt no longer shows what was wrong"
    shown = {exchange.id}
    await here.obey(UNDO)
    assert await corrections() == []
