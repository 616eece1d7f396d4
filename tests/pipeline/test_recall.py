"""Recall during a turn: it uses the words so far, runs once per prompt, and delays no answer."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.events import MemoryUsed, PartialTranscript, Recalled, TurnHeard
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.reranking import Reranking
from assistant.memory.retrieval.results import RecalledForTurn
from assistant.memory.transcript import recall_log
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.recall_log import LoggedMemory
from assistant.memory.turn_recall import TurnRecall
from models.interfaces import ClassifiedText
from tests.support.encoders import Held
from tests.support.fakes import UTTERANCE, ScriptedEnd, ScriptedLlm, ScriptedStt, sound
from tests.support.memories import memory
from tests.support.session import Session, session
from tests.support.user_memory import user_memory

LEISURE_MS = 20_000
TWO = (MemoryUsed("1", "The dog is called Max.", 0.9), MemoryUsed("2", "Likes tea.", 0.4))


def settings(**memory: float) -> dict[str, dict[str, float]]:
    return {"stt": {"partials": True}, "memory": {"deadline_ms": LEISURE_MS, **memory}}


def words(seconds: float) -> str:
    """The words recognised so far, which grow with the seconds of speech."""
    said = "Where is it that my old dog Max likes to sleep when it is hot"
    return " ".join(said.split()[: max(2, int(seconds * 5))])


class ScriptedRecaller:
    """Finds the given memories, and records the questions."""

    def __init__(self, *memories: MemoryUsed) -> None:
        self.found = RecalledForTurn(memories)
        self.words: list[str] = []
        self.deadlines: list[float] = []

    def ahead(self, words: str) -> None:
        self.words.append(f"so far: {words}")

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        self.deadlines.append(deadline_s)
        self.words.append(query)
        return self.found


class NeverBack(ScriptedRecaller):
    def ahead(self, words: str) -> None:
        raise RuntimeError("a failing recaller must not prevent an answer")

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        await asyncio.sleep(30)
        return self.found


class HeldUp(ScriptedRecaller):
    """Blocks the whole program past the deadline, as when another program has the processor."""

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        time.sleep(deadline_s + 0.02)
        await asyncio.sleep(0.001)
        return self.found


async def test_memories_are_in_the_prompt_once_and_never_in_the_history(tmp_path: Path) -> None:
    llm, stt = ScriptedLlm("Max.", "Tea."), ScriptedStt("What is my dog called?")
    recaller, speech = ScriptedRecaller(*TWO), sound(0.8, 1.6, 0.8, 0.6)
    async with session(stt, llm, speech, tmp_path, recaller=recaller) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 2
        for request in llm.requests:
            prompt = "\n".join(message.content for message in request.messages)
            assert prompt.count(TWO[0].text) == 1
            assert TWO[0].text in request.messages[-1].content
        assert [memory.id for memory in talk.turns[0].memories] == ["1", "2"]
        assert [len(event.memories) for event in talk.of(Recalled)] == [2, 2]


async def test_what_was_in_the_prompt_and_what_was_left_out_is_logged(tmp_path: Path) -> None:
    far = replace(TWO[1], near=False)
    recaller = ScriptedRecaller(TWO[0], far)
    stt, llm = ScriptedStt("What is my dog called?"), ScriptedLlm("Max.")
    async with session(stt, llm, UTTERANCE, tmp_path, recaller=recaller) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.near_misses == (("2", 0.4, "not close enough"),)
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        log = recall_log.read(transcript, "me", [turn.exchange])[turn.exchange]
    assert log == (LoggedMemory("1", 0.9), LoggedMemory("2", 0.4, "not close enough"))


@pytest.mark.parametrize(("recaller", "ids"), [(NeverBack(*TWO), []), (HeldUp(*TWO), ["1", "2"])])
async def test_a_late_recall_does_not_prevent_the_answer_and_is_used_if_it_still_arrives(
    tmp_path: Path, recaller: ScriptedRecaller, ids: list[str]
) -> None:
    stt, llm = ScriptedStt("Hello."), ScriptedLlm("Hi.")
    async with session(stt, llm, UTTERANCE, tmp_path, recaller=recaller) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.assistant == "Hi."
        assert [memory.id for memory in turn.memories] == ids


async def test_recall_gets_the_words_while_they_are_spoken(tmp_path: Path) -> None:
    recaller, stt = ScriptedRecaller(), ScriptedStt(by_length=words)
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


async def test_the_model_reads_the_prompt_of_the_words_so_far(tmp_path: Path) -> None:
    llm, stt = ScriptedLlm("In the bath."), ScriptedStt(by_length=words)
    recaller = ScriptedRecaller(*TWO)
    async with session(
        stt, llm, sound(2.5, 0.6), tmp_path, settings=settings(), recaller=recaller
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
    drafts = [each[-1].content for each in llm.read_ahead if TWO[0].text in each[-1].content]
    assert len(drafts) >= 3
    assert all(turn.user.startswith(each.rsplit("\n")[-1]) for each in drafts)
    assert any(llm.requests[0].messages[-1].content.startswith(each) for each in drafts)


async def test_words_are_read_ahead_although_a_short_gap_follows_them(tmp_path: Path) -> None:
    llm, stt = ScriptedLlm(), ScriptedStt(by_length=words, delay_s=0.4)
    speech = sound(0.7, 0.1, 2.0, 0.9)
    async with session(stt, llm, speech, tmp_path, settings=settings()) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 1
        assert talk.of(PartialTranscript)
    assert any(words(9).startswith(each[-1].content) for each in llm.read_ahead)


async def test_the_model_reads_no_words_ahead_while_it_answers(tmp_path: Path) -> None:
    llm, stt = ScriptedLlm("One two three.", token_s=0.5), ScriptedStt("Count for me.")
    async with session(stt, llm, UTTERANCE, tmp_path, settings=settings()) as talk:
        while not talk.of(TurnHeard):
            await asyncio.sleep(0.01)
        assert not talk.dialogue.aloud
        talk.dialogue.user_speaks = True
        talk.dialogue.read_draft("Mm-hmm.", ())
        await talk.to_the_end()
    assert "Mm-hmm." not in [each[-1].content for each in llm.read_ahead]


async def test_words_that_become_no_turn_leave_the_models_cache(tmp_path: Path) -> None:
    llm, stt = ScriptedLlm(), ScriptedStt(by_length=words)
    async with session(
        stt, llm, sound(4.0, 1.0), tmp_path, settings=settings(), recaller=ScriptedRecaller(*TWO)
    ) as talk:
        while not any(TWO[0].text in each[-1].content for each in llm.read_ahead):
            await asyncio.sleep(0.01)
        talk.loop.hear.open = False
        await talk.to_the_end()
        await talk.dialogue.cache.warmed()
    assert not talk.turns
    assert TWO[0].text not in llm.read_ahead[-1][-1].content


class FailingDrafts(ScriptedRecaller):
    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        if draft:
            raise RuntimeError("a failing draft must not prevent an answer")
        return self.found


async def test_a_draft_that_fails_is_harmless(tmp_path: Path) -> None:
    stt, recaller = ScriptedStt(by_length=words), FailingDrafts(*TWO)
    async with session(
        stt, ScriptedLlm("Max."), sound(2.5, 0.6), tmp_path, settings=settings(), recaller=recaller
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
    assert (turn.assistant, len(turn.memories)) == ("Max.", 2)
    assert len(stt.drafts) > 1


async def test_without_partial_transcripts_nothing_is_drafted(tmp_path: Path) -> None:
    stt, off = ScriptedStt(by_length=words), {"stt": {"partials": False}}
    async with session(stt, ScriptedLlm(), sound(2.5, 0.6), tmp_path, settings=off) as talk:
        await talk.to_the_end()
        assert talk.turns
    assert stt.drafts == []


async def test_partial_transcripts_take_only_a_share_of_the_time(tmp_path: Path) -> None:
    quick, slow = (ScriptedStt(by_length=words, delay_s=each) for each in (0.02, 0.3))
    for stt in (quick, slow):
        async with session(
            stt, ScriptedLlm(), sound(3.0, 1.6), tmp_path, settings=settings()
        ) as talk:
            await talk.to_the_end()
            assert len(talk.turns) == 1
    assert len(quick.drafts) >= 5
    assert 1 <= len(slow.drafts) <= 3


async def test_recall_gets_no_words_that_are_not_meant_for_the_assistant(tmp_path: Path) -> None:
    recaller, stt = ScriptedRecaller(), ScriptedStt(by_length=words)
    async with session(
        stt, ScriptedLlm(), UTTERANCE, tmp_path, settings=settings(), recaller=recaller
    ) as talk:
        talk.dialogue.sleep()
        await talk.to_the_end()
    assert stt.heard
    assert recaller.words == []


async def test_recall_has_more_time_for_typed_questions(tmp_path: Path) -> None:
    recaller, stt = ScriptedRecaller(), ScriptedStt("What is new?")
    for deadline_ms in (7, 90):
        limits = settings(deadline_ms=deadline_ms)
        async with session(
            stt, ScriptedLlm(), UTTERANCE, tmp_path, settings=limits, recaller=recaller
        ) as talk:
            await talk.to_the_end()
            await talk.loop.say("And now?")
            await talk.loop.settled()
    assert sorted(set(recaller.deadlines)) == [0.007, 0.03, 0.09]


class Remembering:
    """A session's long-term memory on a real table."""

    def __init__(self, folder: Path, reranking: Reranking | None = None) -> None:
        self.model = Held()
        self.encoder = QueryEncoder(self.model)
        self.memory = user_memory(folder / "memories", self.encoder, user="me")
        self.recollection = TurnRecall(self.memory, tuple, reranking=reranking)

    async def load(self, *texts: str) -> None:
        await self.memory.load(None)
        await self.recollection.load()
        await asyncio.to_thread(self.memory.put, [memory(text, "me") for text in texts])

    def follow(self, talk: Session) -> None:
        talk.bus.subscribe(self.recollection.watch)


@pytest.mark.parametrize("stt", [ScriptedStt(by_length=words), ScriptedStt("Stop talking.")])
async def test_only_words_of_turns_are_stored_and_not_everything_recognised(
    tmp_path: Path, stt: ScriptedStt
) -> None:
    fact = "The dog sleeps in the bath."
    remembering = Remembering(tmp_path)
    await remembering.load(fact)
    async with session(
        stt,
        ScriptedLlm(),
        sound(0.9, 0.4, 0.9, 0.6),
        tmp_path,
        settings=settings(),
        end=ScriptedEnd(0.1, 0.1),
        recaller=remembering.recollection,
    ) as talk:
        remembering.follow(talk)
        await talk.to_the_end()
        turns = [turn.user for turn in talk.turns]
        assert set(remembering.encoder.texts()) == {fact, *turns}
        if turns:
            assert len(set(remembering.model.encoded)) > 3, "some words were encoded ahead"
            assert [each.missed for each in talk.of(Recalled)] == [False]
    assert len(turns) == (stt.by_length is not None), "a command is not a turn"
    await remembering.memory.close()


class SlowJudge:
    """Takes far longer to judge memories than a turn can wait, and would then drop them all."""

    def load(self) -> None:
        """Nothing to load."""

    def judge(self, question: str, memories: Sequence[str]) -> list[float]:
        time.sleep(3600)  # which is simulated
        return [0.0] * len(memories)

    def outdated(self, question: str, older: str, newer: str) -> float:
        raise AssertionError("there is only one memory")


class AboutTheUser:
    """Takes everything for a question about the user's life."""

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        return ClassifiedText({}, told=0.99)


@pytest.mark.parametrize(
    ("question", "missed"),
    [("What is my dog called?", False), ("slow down, what is my dog called?", True)],
)
async def test_what_is_not_judged_in_time_is_used_even_if_the_search_took_until_its_deadline(
    tmp_path: Path, question: str, missed: bool
) -> None:
    fact = "My dog is called Max."
    remembering = Remembering(tmp_path, Reranking(SlowJudge()))
    await remembering.load(fact)
    async with session(
        ScriptedStt(question),
        ScriptedLlm("Max."),
        UTTERANCE,
        tmp_path,
        settings={"memory": {"deadline_ms": 30}},
        recaller=remembering.recollection,
        classifier=AboutTheUser(),
    ) as talk:
        await talk.to_the_end()
        remembering.model.may_go_on.set()
        [turn] = talk.turns
        assert turn.assistant == "Max."
        assert [each.text for each in turn.memories] == [fact]
        assert [each.missed for each in talk.of(Recalled)] == [missed]
    remembering.recollection.close()
    await remembering.memory.close()
