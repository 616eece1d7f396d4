"""What it costs to forget for good: one memory of many, and a thousand in one go.

    python scripts/bench_forget.py [--rows N …] [--forget N …] [--hide N] [--encrypted] [--json]

Each exchange that goes leaves the transcript, and its two memories the table; then the table is
written anew, and every file, version and row is searched for what is gone. `cpu` is processor time
of this process, in which a busy machine shows less. The words are made up, and so are the vectors.
Before that, `--hide` times: how long it takes until an exchange is out of recall and window and
noted, how long "forget that" takes after a question, and how long the event loop is held by it.
With `--json` the last line is one JSON object.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.forgetting.verify import needles_of, verify_gone
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from models.download.disk import folder_bytes
from scripts.bench.filling import USER, said_and_asked
from scripts.bench.hiding import MadeUpEncoder, hiding
from scripts.common.last_line import last_line

ENCODER = "made-up"
TURNS = 50
"""Of each conversation."""

Figures = dict[str, Any]
Result = TypeVar("Result")


@dataclass
class Full:
    """A home with exchanges, whose ids are `told`, and two memories of each."""

    home: Home
    table: MemoryTable
    transcript: Transcript
    told: list[str]

    def close(self) -> None:
        self.table.close()
        self.transcript.close()


class Stopwatch:
    """Seconds by the clock, and of processor time, step by step."""

    def __init__(self) -> None:
        self.figures: Figures = {}

    def time(self, step: str, act: Callable[[], Result]) -> Result:
        began, cpu = time.perf_counter(), time.process_time()
        result = act()
        self.figures[f"{step}_s"] = round(time.perf_counter() - began, 4)
        self.figures[f"{step}_cpu_s"] = round(time.process_time() - cpu, 4)
        return result


def filled(home: Home, rows: int, dimensions: int, key: MasterKey | None) -> Full:
    """Of sentences that no other repeats."""
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
    """Of `count` memories, that is half as many exchanges, but one at least."""
    watch = Stopwatch()
    going = [full.told.pop(len(full.told) // 2) for _ in range(max(1, count // 2))]
    ids = [f"{key}-{speaker}" for key in going for speaker in ("user", "assistant")]
    needles = watch.time(
        "needles", lambda: needles_of(full.table, full.transcript, USER, ids, going)
    )
    began = time.perf_counter()
    watch.time("transcript", lambda: full.transcript.forget(USER, going))
    gone = watch.time("delete", lambda: full.table.delete(USER, ids))
    rewritten = watch.time("rewrite", full.table.rewrite)
    receipt = watch.time(
        "proof",
        lambda: verify_gone(
            needles, full.table, full.transcript, exchanges=len(going), memories=len(ids)
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
    """Nothing is gone by that."""
    if not times:
        return {}
    encoder = MadeUpEncoder(ENCODER, dimensions)
    return asyncio.run(hiding(full.table, full.transcript, USER, full.told, encoder, times))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000])
    parser.add_argument("--forget", type=int, nargs="+", default=[1, 1_000])
    parser.add_argument("--hide", type=int, default=50)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    key = MasterKey.new() if options.encrypted else None
    found: Figures = {"encrypted": options.encrypted, "rows": {}}
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as place:
            home = Home(Path(place) / "home").create()
            with closing(filled(home, rows, options.dimensions, key)) as full:
                hidden = hidden_from(full, options.dimensions, options.hide)
                figures = {str(count): forgetting(full, count) for count in options.forget}
            disk = round(folder_bytes(home.root) / 1e6, 1)
        found["rows"][str(rows)] = {"hiding": hidden, "forget": figures, "disk_mb": disk}
        for what, each in hidden.items():
            print(f"{rows:>7} memories, {what}: {each}")
        for count, each in figures.items():
            print(f"{rows:>7} memories, {count} forgotten: {each}")
    if options.json:
        print(last_line(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
