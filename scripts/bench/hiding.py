"""Measures what forgetting costs the running conversation.

It measures how long it takes until a forgotten exchange is gone from recall and the context window
and is recorded on disk as hidden, and how long this blocks the event loop.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from random import Random

import numpy as np
from numpy.typing import NDArray

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event, Latency, MemoryUsed, Notice, TurnEnded
from assistant.intents.command import Command, CommandKind, Intent
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answered_turns import AnsweredTurns
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from assistant.skills.memory.forgetting import Forgetting
from assistant.skills.registry import SkillRegistry
from scripts.common.program import Figures
from scripts.common.statistics import summary

TICK_S = 0.001
LEISURE_S = 10.0
TURNS = 50
"""Number of turns in the running conversation, each with up to twelve recalled memories."""

QUANTILES = (50, 99)


@dataclass
class MadeUpEncoder:
    """Encodes texts as random vectors; equal texts get equal vectors."""

    name: str
    dimensions: int

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        seeds = [int.from_bytes(blake2b(each.encode(), digest_size=8).digest()) for each in texts]
        drawn = [np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds]
        vectors = np.array(drawn, np.float32).reshape(-1, self.dimensions)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


@dataclass
class Running:
    """The running conversation, without a language model."""

    talk: Conversation

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        return self.talk.exchanges

    def hide(self, items: HiddenItems) -> None:
        self.talk.hide(items.exchanges)

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]]
    ) -> Sequence[Exchange]:
        del items
        self.talk.unhide(each for key, each in exchanges if key == self.talk.id)
        return ()

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """Do nothing: no deleted text is stored here."""


@dataclass
class Watch:
    """Milliseconds of each measured call. `lasted` is the time from its start to its end. `held` is
    the longest time for which nothing else ran on the event loop."""

    lasted: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def once(self) -> AsyncIterator[None]:
        gaps: list[float] = []

        async def tick() -> None:
            before = time.perf_counter()
            while True:
                await asyncio.sleep(TICK_S)
                now = time.perf_counter()
                gaps.append(now - before - TICK_S)
                before = now

        ticking = asyncio.create_task(tick())
        await asyncio.sleep(5 * TICK_S)
        gaps.clear()
        began = time.perf_counter()
        yield
        self.lasted.append(1e3 * (time.perf_counter() - began))
        await asyncio.sleep(2 * TICK_S)  # includes the gap during which the call ended
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        self.held.append(1e3 * max(gaps))

    def figures(self) -> Figures:
        return {"ms": summary(self.lasted, QUANTILES), "held_ms": summary(self.held, QUANTILES)}


async def hiding(
    table: MemoryTable,
    transcript: Transcript,
    user: str,
    told: Sequence[str],
    encoder: MadeUpEncoder,
    times: int,
) -> Figures:
    """Measure hiding exchanges from `told` one by one, and "forget that" after questions."""
    lexicon = TextAnalyzer("en")
    queries = QueryEncoder(encoder)
    opened = (user, lambda: table, queries, lexicon, _no_news)
    memory = UserMemory(*opened, close_table=lambda _: None)
    talk = Conversation.begin(user)
    memories = MemoryAccess(user, memory)
    forgetting = ForgettingExecutor(
        transcript,
        memories,
        [memory, Running(talk)],
        grace_s=3600,
        quiet=_quiet,
        emit=_no_news,
    )
    resolver = Resolver(transcript, memories, lexicon)
    turns = AnsweredTurns(lambda: talk)
    skills = SkillRegistry([Forgetting(forgetting, resolver, turns)])
    await memory.load(transcript)
    try:
        chosen = Random(3).sample(list(told), min(times, len(told)))
        some = [each for _, each in transcript.exchanges(user, set(chosen))]
        return {
            "hide": await _hide(memory, forgetting, some),
            "forget_that": await _forget_that(memory, skills, turns, talk, some, times),
        }
    finally:
        await memory.settled()
        await memory.close()


async def _hide(
    memory: UserMemory, forgetting: ForgettingExecutor, exchanges: Sequence[Exchange]
) -> Figures:
    watch, before, after = Watch(), 0, 0
    for exchange in exchanges:
        before += await _is_found(memory, exchange)
        async with watch.once():
            await forgetting.hide([exchange.id], ())
        after += await _is_found(memory, exchange)
        await forgetting.undo()
    return watch.figures() | {"found_before": before, "found_after": after}


async def _is_found(memory: UserMemory, exchange: Exchange) -> bool:
    """Whether a search for the exchange's own words finds it."""
    found = await memory.recall(exchange.user_text, LEISURE_S)
    return any(exchange.id in each.sources for each in found.memories)


async def _forget_that(
    memory: UserMemory,
    skills: SkillRegistry,
    answered: AnsweredTurns,
    talk: Conversation,
    exchanges: Sequence[Exchange],
    times: int,
) -> Figures:
    """Measure "forget that" in a long conversation of questions answered with recalled memories."""
    watch, asked = Watch(), 0
    for turn in range(1, TURNS + times):
        exchange = exchanges[turn % len(exchanges)]
        await _ask(memory, answered, talk, exchange)
        if turn < TURNS:
            continue
        async with watch.once():
            await skills.carry_out(Intent(Command(CommandKind.FORGET_THAT)))
            if (agree := skills.answer("All of them.") or skills.answer("Yes.")) is not None:
                asked += 1
                await agree()
        await skills.carry_out(Intent(Command(CommandKind.UNDO)))
    return watch.figures() | {"asked_first": asked, "turns": TURNS}


async def _ask(
    memory: UserMemory, answered: AnsweredTurns, talk: Conversation, about: Exchange
) -> None:
    question = f"What did I tell you: {about.user_text.rstrip('.')}?"
    found = (await memory.recall(question, LEISURE_S)).memories
    used = tuple(
        MemoryUsed(each.id, each.text, each.score, speaker=each.speaker, said=each.created)
        for each in found
    )
    turn = talk.last_turn + 1
    talk.append_user(turn, question, datetime.now(UTC))
    talk.complete(turn, f"You told me this: {about.user_text}", ended=datetime.now(UTC))
    answered.watch(TurnEnded(turn, question, "", False, Latency(), used))


def _no_news(event: Event) -> None:
    if isinstance(event, Notice):
        print(event, file=sys.stderr)


async def _quiet() -> None:
    """Nobody speaks."""
