"""What the assistant says when it is asked why it said something, and when it was told something;
on a real transcript, a real table and a real index."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Exchange
from assistant.context.not_known import NOT_THERE
from assistant.errors import StoreError
from assistant.events import Latency, MemoryUsed, Remarked, TurnEnded
from assistant.intents.command import Command, CommandKind
from assistant.language.spoken_times import briefly, precisely
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.explanation import AnswerExplainer
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.records.ids import ADDED_BY_USER, fact_id, subject_of
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.turn_recall import Archive
from assistant.skills.memory.explaining import (
    BESIDE_NOTES,
    FIXED,
    FROM_MODEL,
    IN_REPLY,
    NOT_TOLD,
    NOTHING_SAID,
)
from tests.support.forgetting import START, Bench, bench
from tests.support.patience import LEISURE_S

DOG = "My dog is called Max."
CAT = "My cat is called Biscuit."
WHAT = "What is my dog called?"
WHY = Command(CommandKind.WHY)
WHEN = Command(CommandKind.WHEN_TOLD)
DAY = 24 * 3600
LAST_YEAR = "Tuesday, 14 October 2025"


async def said(here: Bench, command: Command) -> str:
    text = await here.obey(command)
    assert text is not None
    return text


def replied(here: Bench, kind: CommandKind) -> None:
    """A command was carried out, and a reply said."""
    here.explaining.watch(Remarked("A reply.", kind))


def explainer(here: Bench) -> AnswerExplainer:
    return AnswerExplainer(here.transcript, MemoryAccess("ada", here.memory), TextAnalyzer("en"))


async def ask(here: Bench, question: str, answer: str, *, stored: bool = True) -> Exchange:
    """An answer, with what is recalled for the question in its prompt."""
    shown = {each.id for each in here.window.exchanges}
    found = (await here.memory.recall(question, LEISURE_S, shown)).memories
    used = tuple(MemoryUsed(e.id, e.text, e.score, e.kind.value, e.speaker) for e in found)
    turn = here.window.talk.last_turn + 1
    here.window.talk.append_user(turn, question, here.clock[0])
    exchange = here.window.talk.complete(turn, answer, ended=here.clock[0])
    if stored:
        Archive(here.transcript, here.memory).store(here.window.talk, exchange, None, used)
        await here.memory.settled()
    return exchange


async def earlier(here: Bench, *told: str, days: float = 3) -> None:
    """Tell these in a conversation that ended some days ago."""
    await here.tell_all(*told)
    here.window.talk = Conversation.begin("ada")
    here.pass_time(days * DAY)


async def test_an_answer_from_memory_names_what_was_told_and_when(here: Bench) -> None:
    assert await said(here, WHY) == NOTHING_SAID
    await earlier(here, DOG, CAT)
    await ask(here, WHAT, "Your dog is called Max.")
    told = "You told me on Saturday that your dog is called Max."
    assert await said(here, WHY) == told
    await ask(here, "Thanks.", "You're welcome!")
    assert await said(here, WHY) == told, "a courtesy is not what was meant"
    await ask(here, "What are my pets called?", "Max and Biscuit.")
    assert await said(here, WHY) in (
        f"{told} And you told me on Saturday that your cat is called Biscuit.",
        "You told me on Saturday that your cat is called Biscuit."
        " And you told me on Saturday that your dog is called Max.",
    )


async def test_an_earlier_turn_of_the_conversation_is_named(here: Bench) -> None:
    here.tell("I owe Ben forty euros.")
    here.pass_time(60)
    await ask(here, "How much do I owe Ben?", "Forty euros.")
    assert await said(here, WHY) == ("You told me a moment ago that you owe Ben forty euros.")


async def test_an_answer_that_no_memory_was_behind_came_from_the_model(here: Bench) -> None:
    await ask(here, "What is the capital of Peru?", "Lima.")
    assert await said(here, WHY) == FROM_MODEL
    assert await said(here, WHEN) == NOT_TOLD
    await ask(here, "I bought a bicycle.", "How nice! Ride safely.")
    assert await said(here, WHY) == IN_REPLY
    await earlier(here, DOG)
    await ask(here, "Do dogs dream?", "Scientists think so.")
    assert await said(here, WHY) == BESIDE_NOTES


async def test_a_fixed_reply_came_neither_from_a_memory_nor_from_the_model(here: Bench) -> None:
    await earlier(here, "I have no way of telling the twins apart.")
    for stored in (True, False):
        await ask(here, "Which of the twins is at the door?", NOT_THERE, stored=stored)
        assert await said(here, WHY) == FIXED
    found = explainer(here).stored()
    assert (found.fixed, found.sources) == (True, ())
    assert found.recalled
    assert not any(each.based_on for each in found.recalled)


async def test_a_source_that_is_forgotten_is_no_longer_named(here: Bench) -> None:
    await earlier(here, DOG)
    asked = await ask(here, WHAT, "Max.")
    [dog] = [m for m in here.memory.index.outlines().values() if m.text == DOG]
    hidden = await here.forgetting.hide(dog.sources, [dog.id])
    assert "Max" not in await said(here, WHY)
    assert "don't remember" in await said(here, Command(CommandKind.WHEN_TOLD, "my dog"))
    await here.forgetting.undo(hidden.id)
    assert "Max" in await said(here, WHY)

    await here.forgetting.hide(dog.sources, [dog.id])
    assert await here.purge_later()
    assert "Max" not in await said(here, WHY)
    assert dog.id not in "".join(here.transcript.texts()), "its id is no longer in the log"
    assert here.transcript.exchange_ids("ada") == {asked.id}


async def test_what_was_corrected_is_no_longer_named(here: Bench) -> None:
    await earlier(here, DOG)
    await ask(here, WHAT, "Max.")
    await here.obey(Command(CommandKind.CORRECT, "my dog is called Rex"))
    told = await asyncio.to_thread(explainer(here).told_about, "my dog")
    assert [each.text for each in told] == ["My dog is called Rex."]


async def test_an_exchange_that_is_forgotten_meanwhile_cannot_be_explained(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = await ask(here, WHAT, "Max.")
    monkeypatch.setattr(here.transcript, "exchanges", lambda *_: iter(()))
    with pytest.raises(StoreError, match="No exchange id begins with"):
        explainer(here).stored(exchange.id)


async def test_the_log_of_recalls_explains_an_answer_after_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await earlier(here, DOG, days=1)
        await ask(here, WHAT, "Max.")
        later = here.clock[0] + timedelta(minutes=30)
    async with bench(tmp_path, at=later) as again:
        talk = again.transcript.resume("ada", timedelta(hours=1), later)
        assert talk is not None
        again.window.talk = talk
        assert await said(again, WHY) == ("You told me yesterday that your dog is called Max.")


async def test_an_answer_off_the_record_is_explained_although_it_is_not_stored(
    here: Bench,
) -> None:
    await earlier(here, DOG)
    asked = await ask(here, WHAT, "Max.", stored=False)
    found = (await here.memory.recall(WHAT, LEISURE_S)).memories
    used = tuple(MemoryUsed(each.id, each.text, each.score) for each in found)
    ended = TurnEnded(1, WHAT, "Max.", False, Latency(), used, exchange=asked.id)
    here.turns.watch(ended)
    assert await said(here, WHY) == "You told me on Saturday that your dog is called Max."


async def test_notes_facts_and_summaries_are_named_as_such(here: Bench) -> None:
    [told] = await here.tell_all("I'm allergic to peanuts.")
    others = [Conversation.begin("ada").id for _ in range(2)]
    for memory, question, answer, expected in (
        (
            Memory(fact_id(told.id, 0), "ada", MemoryKind.FACT,
                   "The user is allergic to peanuts.", START, sources=(told.id,)),
            "What am I allergic to?", "Peanuts.",
            "I noted that from what you told me on Saturday: you're allergic to peanuts.",
        ),
        (
            Memory(new_id(), "ada", MemoryKind.FACT, "The spare key is in the shed.", START,
                   sources=(ADDED_BY_USER,)),
            "Where is my spare key?", "In the shed.",
            "You asked me on Saturday to remember that the spare key is in the shed.",
        ),
        (
            Memory(subject_of(others[0], 1), "ada", MemoryKind.SUMMARY,
                   "The user plans a trip to Norway.", START, sources=("gone",)),
            "What trip did I plan?", "A trip to Norway.",
            "I summarised that from what you told me on Saturday: you plan a trip to Norway.",
        ),
    ):  # fmt: skip
        await asyncio.to_thread(here.memory.put, [memory])
        here.window.talk = Conversation.begin("ada")
        here.clock[0] = START + timedelta(days=3)
        exchange = here.window.talk.append_user(1, question, here.clock[0])
        exchange = here.window.talk.complete(1, answer, ended=here.clock[0])
        used = [MemoryUsed(memory.id, memory.text, 0.9)]
        Archive(here.transcript, here.memory).store(here.window.talk, exchange, None, used)
        assert await said(here, WHY) == expected


async def test_the_profile_is_named_although_it_is_not_recalled(here: Bench) -> None:
    await here.tell_all("My name is Anna.")
    here.window.talk = Conversation.begin("ada")
    here.pass_time(DAY)
    await ask(here, "What is my name?", "Your name is Anna.")
    assert await said(here, WHY) == "You told me yesterday that your name is Anna."


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CommandKind.FORGET_ABOUT, "because you asked me to forget something."),
        (CommandKind.UNDO, "because you asked me to undo something."),
        (CommandKind.CORRECT, "because you asked me to correct something."),
        (CommandKind.TIMER_SET, "because you asked for it."),
    ],
)
async def test_the_reply_to_a_command_is_explained_as_such(
    here: Bench, kind: CommandKind, expected: str
) -> None:
    await earlier(here, DOG)
    await ask(here, WHAT, "Max.")
    replied(here, kind)
    assert expected in await said(here, WHY)
    replied(here, CommandKind.WHY)
    assert expected in await said(here, WHY), "an explanation isn't what is asked about"
    here.explaining.watch(TurnEnded(2, "Hm.", "Yes?", False, Latency()))
    assert "Max" in await said(here, WHY)


async def test_what_the_assistant_knows_is_explained_by_what_was_told(here: Bench) -> None:
    await earlier(here, DOG, CAT)
    assert "Max" in await said(here, Command(CommandKind.KNOW, "my dog"))
    replied(here, CommandKind.KNOW)
    assert await said(here, WHY) == "You told me on Saturday that your dog is called Max."
    await said(here, Command(CommandKind.KNOW))
    replied(here, CommandKind.KNOW)
    assert "Biscuit" in await said(here, WHY)
    replied(here, CommandKind.REPEAT)
    assert "Biscuit" in await said(here, WHY), "a repetition changes nothing"


async def test_it_is_said_when_something_was_told_first_and_last(here: Bench) -> None:
    leak = Command(CommandKind.WHEN_TOLD, "the leak")
    nothing = "I don't remember you telling me about the leak."
    assert await said(here, leak) == nothing
    await ask(here, "Do you know anything about the leak?", "No.")
    assert await said(here, leak) == nothing, "a question tells nothing"
    await earlier(here, "There is a leak in the kitchen.", days=10)
    assert await said(here, leak) == (
        "That was on Saturday, 21 November, in the morning: there is a leak in the kitchen."
    )
    await earlier(here, "The leak is repaired.", days=1)
    assert await said(here, leak) == (
        "That was yesterday morning: the leak is repaired."
        " The first time was on Saturday, 21 November, in the morning:"
        " there is a leak in the kitchen."
    )


async def test_a_statement_made_twice_was_told_twice(here: Bench) -> None:
    await earlier(here, DOG, days=2)
    await earlier(here, DOG, days=1)
    assert await said(here, Command(CommandKind.WHEN_TOLD, "my dog")) == (
        "That was yesterday morning: your dog is called Max."
        " The first time was on Saturday, 21 November, in the morning: your dog is called Max."
    )


async def test_without_a_topic_it_is_said_when_the_last_answer_was_told(here: Bench) -> None:
    assert await said(here, WHEN) == NOTHING_SAID
    await earlier(here, DOG)
    await ask(here, WHAT, "Max.")
    assert await said(here, WHEN) == (
        "That was on Saturday, 21 November, in the morning: your dog is called Max."
    )
    asked = await here.explaining.ask(WHEN)
    assert asked is not None
    assert asked.text == "Do you want to know when you told me that?"


@pytest.mark.parametrize(
    ("ago", "brief", "precise"),
    [
        (timedelta(minutes=3), "a moment ago", "a moment ago"),
        (timedelta(hours=2), "earlier today", "this afternoon"),
        (timedelta(hours=8), "earlier today", "this morning"),
        (timedelta(hours=13), "earlier today", "early today"),
        (timedelta(hours=16), "yesterday", "last night"),
        (timedelta(hours=20), "yesterday", "yesterday evening"),
        (timedelta(hours=39), "yesterday", "early yesterday"),
        (timedelta(days=2), "on Monday", "on Monday, 12 October, in the afternoon"),
        (timedelta(days=30), "on 14 September", "on Monday, 14 September, in the afternoon"),
        (timedelta(days=365), "on 14 October 2025", f"on {LAST_YEAR}, in the afternoon"),
        (-timedelta(days=2), "", "on Friday, 16 October, in the afternoon"),
    ],
)  # fmt: skip
def test_times_are_said_in_words(ago: timedelta, brief: str, precise: str) -> None:
    now = datetime(2026, 10, 14, 15, 30, tzinfo=UTC)
    assert briefly(now - ago, now) == brief
    assert precisely(now - ago, now) == precise
