"""What remembering and recalling cost, by how much there is to remember.

    python scripts/bench_memory.py [--rows N …] [--profile P …] [--queries N] [--json]

Fills a table on disk with N memories, loads it as a start does, and recalls for questions that were
never asked before, encoding included: alone, and beside a language model that writes all the time.
The documents' vectors are mixtures of real ones, since encoding 100,000 texts takes an hour; the
questions and their vectors are real. `agreement` is the share of the ten best of an exhaustive
search among ours. With `--json` the last line is one
JSON object.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.context.conversation import Conversation
from assistant.engines import Workshop, open_workshop, query_encoder
from assistant.memory.encoding import QueryEncoder
from assistant.memory.lexicon import Lexicon
from assistant.memory.long_term import LongTermMemory
from assistant.memory.making import memories_of
from assistant.memory.question import read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Memory, new_id
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript
from assistant.settings import Settings
from data import located
from models.disk import weight
from models.interfaces import Generation, Message
from models.llama import LlamaCpp
from models.store import ModelStore
from scripts.bench.report import machine
from scripts.bench.statistics import percentile

DISTRACTORS = "evaluation/paraphrase_distractors.jsonl"
FACTS = "evaluation/paraphrase_facts.jsonl"
USER = "me"
DEADLINE_S = 0.010
BATCH = 5_000
TURNS = 20
"""Of each conversation."""
SEEDS = 1_000
"""Texts that are really encoded."""
STORED = 100
BETWEEN_S = 0.02
"""Between two questions: what one leaves running is not the next one's."""

Vectors = NDArray[np.float32]


def texts() -> tuple[list[str], list[str]]:
    """What was said, and what is asked."""
    distractors, facts = (
        [json.loads(line) for line in located(name).read_text("utf-8").splitlines()]
        for name in (DISTRACTORS, FACTS)
    )
    return [row["said"] for row in (*distractors, *facts)], [row["question"] for row in facts]


def made_up(count: int, said: Sequence[str], seed: int) -> Iterator[list[Memory]]:
    """Memories in conversations, in the order of time; sentences are put together of two halves."""
    random = Random(seed)
    start = datetime.now(UTC) - timedelta(minutes=2 * count)
    conversation = new_id()
    batch: list[Memory] = []
    for number in range(count):
        if number % TURNS == 0:
            conversation = new_id()
        first, second = random.choice(said).split(), random.choice(said).split()
        text = " ".join(first[: len(first) // 2 + 1] + second[len(second) // 2 :])
        talk = Conversation.begin(USER)
        talk.append_user(1, text, start + timedelta(minutes=2 * number))
        (memory,) = memories_of(USER, conversation, talk.complete(1, ""))
        batch.append(replace(memory, uses=random.randrange(3)))
        if len(batch) == BATCH or number == count - 1:
            yield batch
            batch = []


def mixtures(seeds: Vectors, count: int, random: np.random.Generator) -> Vectors:
    """Unit vectors between real ones, no two alike."""
    one, two = (seeds[random.integers(len(seeds), size=count)] for _ in range(2))
    share = random.uniform(0.55, 1.0, (count, 1)).astype(np.float32)
    noise = random.normal(0, 0.15 / np.sqrt(seeds.shape[1]), one.shape)
    mixed = share * one + (1 - share) * two + noise.astype(np.float32)
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def fill(folder: Path, count: int, encoder: QueryEncoder, seeds: Vectors) -> MemoryTable:
    said, _ = texts()
    table = MemoryTable.open(str(folder))
    table.add_encoder(encoder.name, encoder.dimensions)
    random = np.random.default_rng(7)
    for batch in made_up(count, said, 7):
        table.add(batch, {encoder.name: mixtures(seeds, len(batch), random)})
    table.compact()
    return table


async def timed_recalls(memory: LongTermMemory, asked: Sequence[str]) -> dict[str, Any]:
    times, misses = [], 0
    for question in asked:
        began = time.perf_counter()
        recalled = await memory.recall(question, DEADLINE_S)
        times.append(1000 * (time.perf_counter() - began))
        misses += recalled.missed
        await asyncio.sleep(BETWEEN_S)
    return summary(times) | {"misses": misses, "recalls": len(times)}


def summary(times: Sequence[float]) -> dict[str, Any]:
    found = {f"p{q}": percentile(times, q) for q in (50, 95, 99)}
    return {name: round(value or 0.0, 2) for name, value in found.items()} | {
        "max": round(max(times), 2)
    }


@asynccontextmanager
async def writing(shop: Workshop) -> AsyncIterator[None]:
    """A language model that writes without end, as while it answers."""
    weights = ModelStore.weights(shop.store, shop.profile.llm)
    llm = LlamaCpp(weights, context_tokens=2048, threads=shop.hardware.threads)
    await llm.load()

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
        await llm.close()


def agreement(memory: LongTermMemory, encoder: QueryEncoder, asked: Sequence[str]) -> float:
    """Of the ten nearest by exact cosine, how many are the index's ten nearest."""
    ids: list[str] = []
    parts: list[Vectors] = []
    for batch in memory.table.scan(USER, columns=("id",), vectors=(encoder.name,)):
        ids += batch.values("id")
        parts.append(batch.vectors(encoder.name)[0])
    exact = np.concatenate(parts)
    same = 0
    for question in asked:
        vector = encoder.encode_query(read_question(question, ()).meaning)
        best = np.argsort(-(exact @ vector))[:10]
        found = set(memory.index.nearest(vector, 10))
        same += len(found & {ids[row] for row in best})
    return round(same / (10 * len(asked)), 4)


async def stored(folder: Path, memory: LongTermMemory) -> dict[str, Any]:
    """Keeping one exchange: the transcript, and the index of the running conversation."""
    transcript = Transcript.open(folder / "transcript.sqlite3")
    talk = Conversation.begin(USER)
    kept, remembered = [], []
    for turn in range(1, STORED + 1):
        talk.append_user(turn, f"My friend number {turn} has moved to Lisbon.", datetime.now(UTC))
        exchange = talk.complete(turn, "How nice.")
        began = time.perf_counter()
        transcript.store(talk, exchange)
        middle = time.perf_counter()
        memory.remember(talk.id, exchange)
        kept.append(1000 * (middle - began))
        remembered.append(1000 * (time.perf_counter() - middle))
        await memory.settled()
    transcript.close()
    return {"transcript_ms": summary(kept), "index_ms": summary(remembered)}


async def measure(rows: int, shop: Workshop, queries: int) -> dict[str, Any]:
    encoder = query_encoder(shop)
    encoder.load()
    said, asked = texts()
    seeds = encoder.encode_documents(said[:SEEDS])
    process = psutil.Process()
    before = process.memory_info().rss
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fill(folder / "memories", rows, encoder, seeds).close()
        memory = LongTermMemory(
            USER,
            lambda: MemoryTable.open(str(folder / "memories")),
            encoder,
            Lexicon("en"),
            Ranking(),
            lambda _: None,
        )
        began = time.perf_counter()
        await memory.load(None)
        loaded = time.perf_counter() - began
        await timed_recalls(memory, asked[:10])
        half = min(queries, (len(asked) - 10) // 2)
        found: dict[str, Any] = {"load_s": round(loaded, 2)}
        found["alone"] = await timed_recalls(memory, asked[10 : 10 + half])
        async with writing(shop):
            found["busy"] = await timed_recalls(memory, asked[10 + half : 10 + 2 * half])
        found["agreement"] = agreement(memory, encoder, asked[:50])
        found["storing"] = await stored(folder, memory)
        found["rss_mb"] = round((process.memory_info().rss - before) / 1e6, 1)
        found["disk_mb"] = round(weight(folder) / 1e6, 1)
        await memory.close()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--profile", nargs="+", default=["tiny"], help="whose encoders to measure")
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for profile in options.profile:
        shop = open_workshop(Settings.model_validate({"general": {"profile": profile}}))
        for rows in options.rows:
            figures = asyncio.run(measure(rows, shop, options.queries))
            found.setdefault(shop.profile.encoder, {})[str(rows)] = figures
            alone, busy = figures["alone"], figures["busy"]
            print(
                f"{shop.profile.encoder} {rows:>7} rows: alone p50 {alone['p50']} p99 "
                f"{alone['p99']} ms, {alone['misses']} missed of {alone['recalls']}; busy p50 "
                f"{busy['p50']} p99 {busy['p99']} ms, {busy['misses']} missed; "
                f"agreement {figures['agreement']}"
            )
    if options.json:
        print(json.dumps({"encoders": found, "machine": machine()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
