"""Measures each step of forgetting for good in a data folder with many memories."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.forgetting.verify import patterns_of, verify_gone
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from models.download.disk import folder_bytes
from scripts.bench.filling import USER, said_and_asked
from scripts.bench.hiding import MadeUpEncoder, hiding
from scripts.common.program import Figures

ENCODER = "made-up"
TURNS = 50
"""Number of exchanges in each conversation."""

Result = TypeVar("Result")


@dataclass
class Full:
    """A home with exchanges and two memories per exchange. `told` holds the exchanges' ids."""

    home: Home
    table: MemoryTable
    transcript: Transcript
    told: list[str]

    def close(self) -> None:
        self.table.close()
        self.transcript.close()


class Stopwatch:
    """Measures the wall-clock time and processor time of each step, in seconds."""

    def __init__(self) -> None:
        self.figures: Figures = {}

    def time(self, step: str, act: Callable[[], Result]) -> Result:
        began, cpu = time.perf_counter(), time.process_time()
        result = act()
        self.figures[f"{step}_s"] = round(time.perf_counter() - began, 4)
        self.figures[f"{step}_cpu_s"] = round(time.process_time() - cpu, 4)
        return result


def filled(home: Home, rows: int, dimensions: int, key: MasterKey | None) -> Full:
    """A home full of exchanges and memories; no two sentences are equal."""
    table = MemoryTable.open(str(home.memories), key=key)
    table.add_encoder(ENCODER, dimensions)
    full = Full(home, table, Transcript.open(home.transcript, key), [])
    sentences, _ = said_and_asked()
    random, numbers = Random(3), np.random.default_rng(3)
    memories = []
    now = datetime.now(UTC) - timedelta(minutes=rows)
    talk = Conversation.begin(USER)
    for number in range(rows // 2):
        if number % TURNS == 0:
            talk = Conversation.begin(USER)
        said = f"{random.choice(sentences)} That was on the day {number} of my diary."
        at = now + timedelta(minutes=number)
        talk.append_user(number % TURNS + 1, said, at)
        exchange = talk.complete(number % TURNS + 1, f"I see, {number} it is.", ended=at)
        full.transcript.store(talk, exchange)
        full.told.append(exchange.id)
        memories += materialize_exchange(USER, talk.id, exchange)
    vectors = numbers.standard_normal((len(memories), dimensions), dtype=np.float32)
    table.add(memories, {ENCODER: vectors / np.linalg.norm(vectors, axis=1, keepdims=True)})
    table.compact()
    return full


def forgetting(full: Full, count: int) -> Figures:
    """Forget `count` memories by forgetting half as many exchanges, but at least one."""
    watch = Stopwatch()
    going = [full.told.pop(len(full.told) // 2) for _ in range(max(1, count // 2))]
    ids = [f"{key}-{speaker}" for key in going for speaker in ("user", "assistant")]
    needles = watch.time(
        "needles", lambda: patterns_of(full.transcript, USER, going, full.table, ids)
    )
    began = time.perf_counter()
    watch.time("transcript", lambda: full.transcript.delete_exchanges(USER, going))
    gone = watch.time("delete", lambda: full.table.delete(USER, ids))
    rewritten = watch.time("rewrite", full.table.rewrite)
    receipt = watch.time(
        "proof",
        lambda: verify_gone(
            needles, full.transcript, full.table, exchanges=len(going), memories=len(ids)
        ),
    )
    return watch.figures | {
        "all_s": round(time.perf_counter() - began + watch.figures["needles_s"], 4),
        "memories": gone,
        "rewritten": rewritten,
        "clean": receipt.clean,
        "searched_mb": round(receipt.bytes / 1e6, 1),
    }


def hidden_from(full: Full, dimensions: int, times: int) -> Figures:
    """Measure hiding exchanges, without deleting anything."""
    if not times:
        return {}
    encoder = MadeUpEncoder(ENCODER, dimensions)
    return asyncio.run(hiding(full.table, full.transcript, USER, full.told, encoder, times))


def measured(
    rows: int, going: Sequence[int], hide: int, dimensions: int, key: MasterKey | None
) -> Figures:
    """In a home with `rows` memories, hide `hide` exchanges and bring them back. Then, for each
    number in `going`, forget that many memories."""
    with tempfile.TemporaryDirectory() as place:
        home = Home(Path(place) / "home").create()
        with closing(filled(home, rows, dimensions, key)) as full:
            hidden = hidden_from(full, dimensions, hide)
            forgotten = {str(count): forgetting(full, count) for count in going}
        disk = round(folder_bytes(home.root) / 1e6, 1)
    return {"hiding": hidden, "forget": forgotten, "disk_mb": disk}
