"""Measures a filled long-term memory; each function recalls or stores, and returns figures."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from assistant.context.conversation import Conversation, Exchange
from assistant.context.short_term import ShortTermMemory
from assistant.events import Latency, MemoryUsed
from assistant.memory.records.arrays import Values
from assistant.memory.retrieval import ranking, search
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.question import read_question
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive, TurnRecall
from assistant.memory.user_memory import UserMemory
from assistant.settings import Settings
from models.interfaces import Generation, LanguageModel, Message
from scripts.bench.filling import USER, Fact, said_and_asked
from scripts.bench.memory.rivals import Rival
from scripts.common.statistics import percentile, ratio, rounded_interval, summary

DEADLINE_S = 0.010
TYPED_S = 0.030
AHEAD_S = 0.1
"""Time between the last partial transcript and the end of the turn."""
LEISURE_S = 5.0
"""A deadline that cuts nothing short, for timing complete recalls."""
BETWEEN_S = 0.06
"""Pause between two questions, so that work left running by one is not counted in the next."""
FULL = 0.85
"""Share of the window that is filled. A fuller window would move at the next turn."""
STORED = 100
BEST = 10


async def recalls(
    memory: UserMemory,
    asked: Sequence[str],
    *,
    deadline_s: float = DEADLINE_S,
    ahead: bool = False,
) -> dict[str, Any]:
    """Recall as the voice loop does, encoding included.

    `misses` counts the questions whose vector came too late, so that only their words were used.
    `stand_in` counts the questions for which only the fast encoder's vector came in time. `brief`
    counts the searches that were shortened for lack of time, and `late` the recalls that took
    longer than the deadline. `cpu_p50` is the median processor time of a recall, on which other
    programs have little effect.

    Args:
        ahead: whether each question's words are known beforehand, as if transcribed while spoken.
    """
    times, worked, misses, stand_in, brief = [], [], 0, 0, 0
    for question in asked:
        if ahead:
            memory.asking.ahead(question)
            await asyncio.sleep(AHEAD_S)
        began, before = time.perf_counter(), time.process_time()
        recalled = await memory.recall(question, deadline_s)
        times.append(1000 * (time.perf_counter() - began))
        worked.append(1000 * (time.process_time() - before))
        misses += recalled.missed
        stand_in += recalled.stand_in
        brief += recalled.brief
        memory.asking.over(question)
        await asyncio.sleep(BETWEEN_S)
    late = sum(each > 1000 * deadline_s for each in times)
    return summary(times) | {
        "misses": misses,
        "stand_in": stand_in,
        "brief": brief,
        "late": late,
        "recalls": len(times),
        "cpu_p50": summary(worked)["p50"],
    }


@asynccontextmanager
async def writing(llm: LanguageModel) -> AsyncIterator[None]:
    """Keep the language model generating text during the block, as it does while answering."""

    async def write() -> None:
        request = Generation([Message("user", "Tell me a very long story.")], max_tokens=400)
        while True:
            async for _ in llm.stream(request):
                continue

    task = asyncio.create_task(write())
    await asyncio.sleep(1.0)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def contexts(
    memory: UserMemory, llm: LanguageModel, settings: Settings, asked: Sequence[str]
) -> dict[str, Any]:
    """Measure how long it takes to recall and to build the whole prompt. The window is nearly full,
    and the prompt gets as many memories as it may contain."""
    short_term = _full_window(llm, settings)
    recollection = TurnRecall(memory, short_term.shown)
    short_term.prompt(asked[0])  # in a conversation, a turn's tokens are counted when it is said
    whole, built, worked, tokens, notes = [], [], [], [], []
    for question in asked:
        began = time.perf_counter()
        found, *_ = await recollection.recall(question, DEADLINE_S)
        middle, before = time.perf_counter(), time.thread_time()
        prompt = short_term.prompt(question, found)
        ended = time.perf_counter()
        worked.append(1000 * (time.thread_time() - before))
        whole.append(1000 * (ended - began))
        built.append(1000 * (ended - middle))
        tokens.append(prompt.tokens)
        notes.append(len(prompt.memories.used))
        await asyncio.sleep(BETWEEN_S)
    return {
        "with_recall_ms": summary(whole),
        "prompt_ms": summary(built),
        "prompt_cpu_p50": summary(worked)["p50"],
        "tokens": round(float(np.mean(tokens))),
        "notes": round(float(np.mean(notes)), 1),
    }


def _full_window(llm: LanguageModel, settings: Settings) -> ShortTermMemory:
    talk = Conversation.begin(USER)
    others, _ = said_and_asked()
    room = FULL * min(
        llm.context_tokens - settings.llm.max_answer_tokens, settings.context.max_context_tokens
    )
    for turn, said in enumerate(cycle(others), 1):
        answer = f"I see. You told me this: {said}. Tell me more about it, if you like."
        room -= llm.count_messages([Message("user", said), Message("assistant", answer)])
        if room < 0:
            break
        talk.append_user(turn, said, datetime.now(UTC))
        talk.complete(turn, answer)
    return ShortTermMemory(talk, llm, settings, None, lambda _: None)


async def storing(folder: Path, memory: UserMemory) -> dict[str, Any]:
    """Measure how long it takes to store exchanges as the assistant does. `committed` is the time
    until an exchange is in the transcript, `stored` is the time that the caller waits, `searchable`
    is the time until a search finds the exchange by its words, and `embedded` is the time until it
    is in the table with its vector."""
    transcript = _Noted.open(folder / "transcript.sqlite3")
    assert isinstance(transcript, _Noted)
    archive = Archive(transcript, memory)
    talk = Conversation.begin(USER)
    times: dict[str, list[float]] = {
        name: [] for name in ("committed", "stored", "searchable", "embedded")
    }
    for turn in range(1, STORED + 1):
        words = f"My friend number {turn} has moved to Lisbon."
        talk.append_user(turn, words, datetime.now(UTC))
        exchange = talk.complete(turn, "How nice.")
        began = time.perf_counter()
        archive.store(talk, exchange)
        stored = time.perf_counter()
        found = memory.index.search(
            read_question(words, ()), None, k=1, now=datetime.now(UTC), exclude=()
        )
        assert exchange.id in found[0].sources
        searchable = time.perf_counter()
        await memory.settled()
        embedded = time.perf_counter()
        for name, moment in (
            ("committed", transcript.committed),
            ("stored", stored),
            ("searchable", searchable),
            ("embedded", embedded),
        ):
            times[name].append(1000 * (moment - began))
    transcript.close()
    return {f"{name}_ms": summary(each) for name, each in times.items()}


class _Noted(Transcript):
    """A transcript that records when its last exchange was committed."""

    committed = 0.0

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
        near_misses: Sequence[tuple[str, float, str]] = (),
    ) -> bool:
        stored = super().store(conversation, exchange, latency, memories, near_misses)
        self.committed = time.perf_counter()
        return stored


def agreement(memory: UserMemory, encoder: QueryEncoder, facts: Sequence[Fact]) -> dict[str, float]:
    """How close the index comes to an exhaustive search.

    `nearest` is the share of the ten nearest memories by exact cosine that the index also finds.
    `same` is the share of our ten best memories that are also among the ten best if every memory is
    ranked. `R@10` is the share of the questions whose fact is among our ten best.

    The part of a score that comes from adjacent turns depends on the candidates' mean cosine. Both
    rankings get the same mean, so that they differ only in the candidates that the index finds.
    """
    exact, ids = _all_vectors(memory, encoder.name)
    nearest, same, ours, all_ranked = 0, 0, 0, 0
    mean = ranking.mean_cosine
    for fact in facts:
        vector = encoder.encode_query(read_question(fact.question, ()).meaning)
        best = np.argsort(-(exact @ vector))[:BEST]
        nearest += len(set(memory.index.nearest(vector, BEST)) & {ids[row] for row in best})
        averages: list[float] = []

        def average(values: Values, averages: list[float] = averages) -> float:
            averages.append(mean(values))
            return averages[-1]

        with patch.object(ranking, "mean_cosine", average):
            found = {each.id for each in memory.find(fact.question, BEST, both=True).memories}
        with (
            patch.object(search, "CANDIDATES", len(ids)),
            patch.object(ranking, "mean_cosine", lambda _, known=averages[-1]: known),
        ):
            whole = {each.id for each in memory.find(fact.question, BEST, both=True).memories}
        same += len(found & whole)
        ours += fact.id in found
        all_ranked += fact.id in whole
    asked = len(facts)
    return {
        "nearest": round(nearest / (min(BEST, len(ids)) * asked), 4),
        "same": round(same / (min(BEST, len(ids)) * asked), 4),
        "R@10": round(ours / asked, 4),
        "R@10_exhaustive": round(all_ranked / asked, 4),
        "difference": round((all_ranked - ours) / asked, 4),
        "asked": asked,
    }


def _all_vectors(memory: UserMemory, encoder: str) -> tuple[Any, list[str]]:
    ids: list[str] = []
    parts = []
    for batch in memory.table.scan(USER, columns=("id",), vectors=(encoder,)):
        ids += batch.values("id")
        parts.append(batch.vectors(encoder)[0])
    return np.concatenate(parts), ids


async def beside(
    memory: UserMemory, encoder: QueryEncoder, rivals: Sequence[Rival], facts: Sequence[Fact]
) -> dict[str, Any]:
    """Ask all stores the same questions; each question goes to the stores in a different order.
    Times include encoding.

    Our search runs to its end, without a deadline. The ratio says how many times as long the rival
    takes; its interval is a bootstrap over the questions.

    Args:
        encoder: encodes the questions for the rivals. It is a separate instance, so that it doesn't
            use the memory's caches.
    """
    verbatim = {rival.name: _verbatim(rival, encoder, facts) for rival in rivals}  # warms them up
    times: dict[str, list[float]] = {"ours": [], **{rival.name: [] for rival in rivals}}
    hits = dict.fromkeys(times, 0)
    for number, fact in enumerate(facts):
        for place in range(len(times)):
            name = list(times)[(number + place) % len(times)]
            if name == "ours":
                took, found = await _ours(memory, fact.question)
                hit = fact.id in found
            else:
                rival = next(each for each in rivals if each.name == name)
                took, rows = _theirs(rival, encoder, fact.question)
                hit = fact.row in rows
            times[name].append(took)
            hits[name] += hit
            await asyncio.sleep(BETWEEN_S)
    told = {
        name: summary(each) | {"hit@10": round(hits[name] / len(facts), 4)}
        for name, each in times.items()
    }
    for rival in rivals:
        told[rival.name] |= rival.filled | _ratios(times["ours"], times[rival.name])
        told[rival.name]["verbatim"] = verbatim[rival.name]
    return told


async def _ours(memory: UserMemory, question: str) -> tuple[float, list[str]]:
    began = time.perf_counter()
    recalled = await memory.recall(question, LEISURE_S)
    took = 1000 * (time.perf_counter() - began)
    return took, [each.id for each in recalled.memories[:BEST]]


def _theirs(rival: Rival, encoder: QueryEncoder, question: str) -> tuple[float, list[int]]:
    encoder.clear()
    began = time.perf_counter()
    vector = encoder.encode_query(question)
    encoded = 1000 * (time.perf_counter() - began)
    rows, took = rival.search(question, vector, BEST)
    return encoded + took, rows


def _verbatim(rival: Rival, encoder: QueryEncoder, facts: Sequence[Fact]) -> float:
    """The share of facts found by their own words, which shows that the rival searches at all."""
    some = facts[:20]
    found = [rival.search(f.said, encoder.encode_query(f.said), BEST)[0] for f in some]
    return round(sum(f.row in rows for f, rows in zip(some, found, strict=True)) / len(some), 4)


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    pairs = list(zip(ours, theirs, strict=True))

    def at(q: float) -> Callable[[Sequence[tuple[float, float]]], float | None]:
        def statistic(drawn: Sequence[tuple[float, float]]) -> float | None:
            below, above = (percentile([pair[at] for pair in drawn], q) for at in (0, 1))
            return ratio(above, below)

        return statistic

    found: dict[str, Any] = {}
    for q in (50, 95):
        found[f"ratio_p{q}"] = round(at(q)(pairs) or 0.0, 2)
        found[f"ratio_p{q}_interval"] = rounded_interval(pairs, at(q), digits=2)
    return found
