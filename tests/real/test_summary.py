"""Window and summary with a real model: tokens read, token counts, and changes of the prefix."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from assistant.context import short_term
from assistant.context.conversation import Conversation, Summary
from assistant.context.prompt import Prompt
from assistant.context.short_term import ShortTermMemory
from assistant.context.summary import SHORTEST_SUMMARY
from assistant.events import Event, Latency, MemoryUsed, TurnEnded
from assistant.paths import models_cache
from assistant.settings import Context, Settings
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import Generation, Message, Usage
from models.llm.llama import LlamaCpp

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

LLM = "smollm2-135m-instruct"
TURNS = 40
OVERHEAD = 32
"""Tokens that the model may read for a turn in addition to the user's own words."""

SAID = (
    ("My sister Clara moved to Porto in May.", "That sounds exciting. How does she like it?"),
    ("She loves the sea, but the rain surprised her.", "Porto is wetter than people think."),
    ("What should I cook for her on Saturday?", "How about grilled fish with potatoes?"),
    ("She doesn't eat fish.", "Then a mushroom risotto would be a safe choice."),
    ("How long does a risotto take?", "About half an hour, and you have to keep stirring."),
    ("Tell me something about mushrooms.", "Most of a mushroom lives under the ground"),
    ("My train leaves at ten past nine.", "Then you should be at the station by nine."),
    ("Uh, remind me, what day is my dentist?", ""),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm() -> AsyncIterator[LlamaCpp]:
    store = ModelStore(models_cache(), catalogue.read())
    model = LlamaCpp(store.weights(LLM), context_tokens=4096)
    await model.load()
    yield model
    await model.close()


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_term, "SUMMARY_DELAY_S", 0.0)


class Session:
    """A conversation as in the voice loop, with scripted answers."""

    def __init__(self, llm: LlamaCpp, **context: int) -> None:
        self.llm = llm
        self.told: list[Event] = []
        settings = Settings(context=Context.model_validate(context))
        self.memory = ShortTermMemory(
            Conversation.begin("ada"), llm, settings, None, self.told.append
        )
        self.summarizer = self.memory._summarizer

    async def run(self, messages: Sequence[Message], max_tokens: int) -> Usage:
        usage: Usage | None = None
        request = Generation(messages=messages, max_tokens=max_tokens, temperature=0.0)
        async with aclosing(self.llm.stream(request)) as chunks:
            async for chunk in chunks:
                usage = chunk.usage or usage
        assert usage is not None
        return usage

    async def take_turn(
        self, question: str, answer: str, memories: Sequence[MemoryUsed] = ()
    ) -> tuple[Prompt, Usage]:
        prompt = self.memory.prompt(question, memories)
        usage = await self.run(prompt.messages, 1)
        ended = TurnEnded(self.memory.turns + 1, question, answer, not answer, Latency())
        await self.memory.keep(ended, datetime.now(UTC))
        self.memory.summarize_if_due()
        await self.memory.summarized()
        await self.run(self.memory.read_ahead(), 0)
        return prompt, usage


def said(turn: int) -> tuple[str, str]:
    return SAID[turn % len(SAID)]


@pytest.mark.long
async def test_in_a_long_conversation_the_model_reads_little_and_the_prefix_rarely_changes(
    llm: LlamaCpp,
) -> None:
    session = Session(llm, max_unsummarized_messages=20, target_context_tokens=150)
    await session.run(session.memory.read_ahead(), 0)
    before: tuple[Message, ...] = ()
    summaries: list[Summary] = []
    overheads: list[int] = []
    changes = 0
    for turn in range(TURNS):
        prompt, usage = await session.take_turn(*said(turn))
        summary = session.memory.conversation.summary
        assert usage.prompt_tokens == prompt.tokens, "our count must equal the engine's"
        overheads.append(usage.read_tokens - llm.count(said(turn)[0]))
        if prompt.stable_messages[: len(before)] != before:
            changes += 1
            assert prompt.stable_messages[0].content.endswith(summaries[-1].text)
        before = prompt.stable_messages
        if summary is not None and summary not in summaries:
            summaries.append(summary)

    assert session.told == []
    assert max(overheads) <= OVERHEAD, overheads
    assert 3 <= len(summaries) <= 6
    assert changes in {len(summaries), len(summaries) - 1}, (
        "the last summary may not have been used yet"
    )


async def test_the_model_also_reads_little_when_the_window_moves(llm: LlamaCpp) -> None:
    session = Session(llm, max_context_tokens=340, max_unsummarized_messages=1000)
    session.summarizer.trigger_tokens = 1_000_000
    await session.run(session.memory.read_ahead(), 0)
    before: tuple[Message, ...] = ()
    moves = 0
    for turn in range(12):
        prompt, usage = await session.take_turn(*said(turn))
        assert usage.prompt_tokens == prompt.tokens <= prompt.budget
        assert usage.read_tokens <= llm.count(said(turn)[0]) + OVERHEAD
        moves += prompt.stable_messages[: len(before)] != before
        before = prompt.stable_messages

    assert 2 <= moves <= 5


async def test_memories_are_read_once_and_do_not_change_the_prefix(llm: LlamaCpp) -> None:
    session = Session(llm)
    notes = [MemoryUsed("1", "The user's dog is called Max.", 0.9)]
    await session.run(session.memory.read_ahead(), 0)
    for turn in range(4):
        prompt, usage = await session.take_turn(*said(turn), notes)
        tokens = {section.name: section.tokens for section in prompt.sections}
        words = llm.count(said(turn)[0])
        assert usage.prompt_tokens == prompt.tokens == sum(tokens.values())
        assert usage.read_tokens <= words + tokens["memories"] + OVERHEAD
        assert all("Max" not in message.content for message in prompt.stable_messages)


async def test_a_real_summary_is_short_and_can_be_cancelled(llm: LlamaCpp) -> None:
    session = Session(llm, max_unsummarized_messages=12, target_context_tokens=100)
    conversation = session.memory.conversation
    for turn in range(7):
        question, answer = said(turn)
        conversation.append_user(turn + 1, question)
        conversation.complete(turn + 1, answer, interrupted=not answer)
    assert session.summarizer.due(conversation)

    task = asyncio.create_task(session.summarizer.run(conversation))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert conversation.summary is None

    summary = await session.summarizer.run(conversation)
    assert summary is not None
    assert len(summary.text.split()) >= 3
    assert llm.count(summary.text) <= SHORTEST_SUMMARY + 4
    before = session.memory.prompt("And?").tokens
    assert conversation.apply(summary)
    assert summary.text in session.memory.prompt("And?").messages[0].content
    kept = [exchange.turn for exchange in conversation.uncovered]
    assert kept[-2:] == [6, 7]
    assert len(kept) <= 3
    assert before > 0
