"""Recall on the words heard so far: what it is told, and what is left of them afterwards."""

import asyncio
from pathlib import Path

import pytest

from assistant.events import Recalled
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.results import RecalledForTurn
from assistant.memory.turn_recall import TurnRecall
from assistant.voice.frames import PartialFrame
from tests.support.encoders import WAIT_S, Held
from tests.support.fakes import UTTERANCE, ScriptedEnd, ScriptedLlm, ScriptedStt, silence, sound
from tests.support.memories import memory
from tests.support.pace import UNHURRIED_S, unhurried
from tests.support.session import Session, session
from tests.support.user_memory import user_memory

LEISURE_MS = 20_000


def settings(**memory: float) -> dict[str, dict[str, float]]:
    return {"stt": {"partials": True}, "memory": {"deadline_ms": LEISURE_MS, **memory}}


def words(seconds: float) -> str:
    """More words as more is heard."""
    said = "Where is it that my old dog Max likes to sleep when it is hot"
    return " ".join(said.split()[: max(2, int(seconds * 5))])


class Listening:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.deadlines: list[float] = []

    def ahead(self, words: str) -> None:
        self.words.append(f"so far: {words}")

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        self.deadlines.append(deadline_s)
        self.words.append(query)
        return RecalledForTurn()


async def test_recall_is_told_the_words_while_they_are_spoken(tmp_path: Path) -> None:
    recaller = Listening()
    stt = ScriptedStt(by_length=words)
    async with session(
        stt, ScriptedLlm(), sound(2.5, 0.6), tmp_path, settings=settings(), recaller=recaller
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
    before = recaller.words[: recaller.words.index(turn.user)]
    assert before[-1] == f"so far: {turn.user}"
    earlier = [each.removeprefix("so far: ") for each in before[:-1]]
    assert earlier
    assert all(turn.user.startswith(each) for each in earlier)


async def test_what_is_not_meant_for_the_assistant_is_not_told(tmp_path: Path) -> None:
    recaller = Listening()
    stt = ScriptedStt(by_length=words)
    async with session(
        stt, ScriptedLlm(), UTTERANCE, tmp_path, settings=settings(), recaller=recaller
    ) as talk:
        talk.dialogue.sleep()
        await talk.to_the_end()
    assert stt.heard
    assert recaller.words == []


async def test_what_is_typed_has_more_time(tmp_path: Path) -> None:
    recaller = Listening()
    for deadlines in ({"deadline_ms": 7}, {"deadline_ms": 90}):
        async with session(
            ScriptedStt("What is new?"),
            ScriptedLlm(),
            UTTERANCE,
            tmp_path,
            settings=settings(**deadlines),
            recaller=recaller,
        ) as talk:
            await talk.to_the_end()
            await talk.loop.say("And now?")
            await talk.loop.settled()
    assert sorted(set(recaller.deadlines)) == [0.007, 0.03, 0.09]


class Remembering:
    """A session's long-term memory on a real table."""

    def __init__(self, folder: Path) -> None:
        self.model = Held()
        self.encoder = QueryEncoder(self.model)
        self.memory = user_memory(folder / "memories", self.encoder, user="me")
        self.recollection = TurnRecall(self.memory, tuple)

    async def load(self, *texts: str) -> None:
        await self.memory.load(None)
        await asyncio.to_thread(self.memory.put, [memory(text, "me") for text in texts])

    def follow(self, talk: Session) -> None:
        talk.bus.subscribe(self.recollection.watch)


async def test_of_all_that_was_heard_only_the_turns_words_are_kept(tmp_path: Path) -> None:
    fact = "The dog sleeps in the bath."
    remembering = Remembering(tmp_path)
    await remembering.load(fact)
    stt = ScriptedStt(by_length=words)
    async with session(
        stt,
        ScriptedLlm(),
        sound(0.9, 0.4, 0.9, 0.6),
        tmp_path,
        settings=settings(),
        end=ScriptedEnd(0.1),
        recaller=remembering.recollection,
    ) as talk:
        remembering.follow(talk)
        await talk.to_the_end()
        [turn] = talk.turns
        assert len(set(remembering.model.encoded)) > 3, "some of it was encoded ahead"
        assert set(remembering.encoder.texts()) == {fact, turn.user}
        assert [each.missed for each in talk.of(Recalled)] == [False]
    await remembering.memory.close()


async def test_of_a_command_nothing_is_kept(tmp_path: Path) -> None:
    remembering = Remembering(tmp_path)
    await remembering.load("The dog sleeps in the bath.")
    async with session(
        ScriptedStt("Stop talking, please."),
        ScriptedLlm(),
        UTTERANCE,
        tmp_path,
        settings=settings(),
        recaller=remembering.recollection,
    ) as talk:
        remembering.follow(talk)
        await talk.to_the_end()
        assert talk.turns == []
    assert remembering.encoder.texts() == ["The dog sleeps in the bath."]
    await remembering.memory.close()


async def test_the_last_partial_stands_in_when_the_deadline_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhurried(monkeypatch)
    remembering = Remembering(tmp_path)
    await remembering.load("The dog sleeps in the bath.", "Rain in Ghent.")
    async with session(
        ScriptedStt("-"),
        ScriptedLlm(),
        silence(0.2),
        tmp_path,
        settings=settings(deadline_ms=1000 * UNHURRIED_S),
        recaller=remembering.recollection,
    ) as talk:
        remembering.follow(talk)
        await talk.loop._worker.queue_frame(PartialFrame("the dog sleeps"))
        async with asyncio.timeout(WAIT_S):
            while "the dog sleeps" not in remembering.encoder.texts():
                await asyncio.sleep(0.01)
        await talk.loop.say("slow but the dog sleeps where")
        async with asyncio.timeout(WAIT_S):
            while not talk.of(Recalled):
                await asyncio.sleep(0.01)
        [recalled] = talk.of(Recalled)
    remembering.model.may_go_on.set()
    assert recalled.missed
    assert dict(recalled.memories[0].parts)["meaning"] > 0.3
    await remembering.memory.close()
