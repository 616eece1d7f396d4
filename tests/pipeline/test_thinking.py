"""Thinking and speaking: memories once, failures with an apology, the cache kept warm."""

import asyncio
import time
from pathlib import Path

from assistant.errors import ModelFailed
from assistant.events import MemoryUsed, Notice, Recalled, Severity
from assistant.memory.retrieval.results import RecalledForTurn
from tests.support.fakes import UTTERANCE, ScriptedLlm, ScriptedStt, silence, sound
from tests.support.session import session


class TwoMemories:
    def __init__(self) -> None:
        self.queries: list[str] = []
        self.partials: list[str] = []

    def ahead(self, words: str) -> None:
        self.partials.append(words)

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        del deadline_s
        self.queries.append(query)
        dog, tea = "The dog is called Max.", "Likes tea."
        return RecalledForTurn((MemoryUsed("1", dog, 0.9), MemoryUsed("2", tea, 0.4)))


class NeverBack:
    def ahead(self, words: str) -> None:
        raise RuntimeError("a recaller that fails costs no answer")

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        del query, deadline_s
        await asyncio.sleep(30)
        return RecalledForTurn()


class HeldUp(TwoMemories):
    """The whole program is, as by another one that has the processor."""

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        time.sleep(deadline_s + 0.02)
        await asyncio.sleep(0.001)
        return await super().recall(query, deadline_s)


async def test_memories_enter_the_prompt_once_and_never_the_history(tmp_path: Path) -> None:
    llm, recaller = ScriptedLlm("Max.", "Tea."), TwoMemories()
    stt = ScriptedStt("What is my dog called?")
    async with session(stt, llm, sound(0.8, 1.6, 0.8, 0.6), tmp_path, recaller=recaller) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 2
        for request in llm.requests:
            prompt = "\n".join(message.content for message in request.messages)
            assert prompt.count("The dog is called Max.") == 1
            assert "The dog is called Max." in request.messages[-1].content
        assert [memory.id for memory in talk.turns[0].memories] == ["1", "2"]
        assert [len(event.memories) for event in talk.of(Recalled)] == [2, 2]


async def test_a_recall_that_does_not_come_back_costs_no_answer(tmp_path: Path) -> None:
    async with session(
        ScriptedStt("Hello."), ScriptedLlm("Hi."), UTTERANCE, tmp_path, recaller=NeverBack()
    ) as talk:
        await talk.to_the_end()
        assert [turn.assistant for turn in talk.turns] == ["Hi."]
        assert talk.turns[0].memories == ()


async def test_a_recall_that_was_held_up_is_not_thrown_away(tmp_path: Path) -> None:
    async with session(
        ScriptedStt("Hello."), ScriptedLlm("Hi."), UTTERANCE, tmp_path, recaller=HeldUp()
    ) as talk:
        await talk.to_the_end()
        assert [memory.id for memory in talk.turns[0].memories] == ["1", "2"]


async def test_a_failing_model_is_apologised_for_and_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm(ModelFailed("The model is gone.", mend="Start it."), "Here I am.")
    async with session(ScriptedStt("Hello."), llm, sound(0.8, 4.6, 0.8, 0.6), tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert first.assistant.startswith("Sorry")
        assert second.assistant == "Here I am."
        errors = [event for event in talk.of(Notice) if event.severity is Severity.ERROR]
        assert [(error.text, error.mend) for error in errors] == [
            ("The model is gone.", "Start it.")
        ]


async def test_a_silent_model_is_given_up_with_an_apology(tmp_path: Path) -> None:
    settings = {"llm": {"timeout_s": 0.3}}
    llm = ScriptedLlm("Never said", token_s=60)
    async with session(ScriptedStt("Hello."), llm, UTTERANCE, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert talk.turns[0].assistant.startswith("Sorry")
        assert llm.cancelled == 1


async def test_between_turns_the_history_is_read_into_the_cache(tmp_path: Path) -> None:
    llm = ScriptedLlm("Hi there.")
    async with session(ScriptedStt("Hello."), llm, UTTERANCE, tmp_path) as talk:
        await talk.to_the_end()
        await talk.dialogue.cache.warmed()
        contents = [message.content for message in llm.read_ahead[-1]]
        assert contents[1:3] == ["Hello.", "Hi there."]


async def test_the_thread_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with session(
        ScriptedStt("I am Max."), ScriptedLlm("Hello Max."), UTTERANCE, tmp_path
    ) as talk:
        await talk.to_the_end()
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as again:
        assert again.history()[:2] == [("user", "I am Max."), ("assistant", "Hello Max.")]
        assert again.dialogue.next_turn == 2
