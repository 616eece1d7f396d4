"""Have a model describe the turns of a benchmark, as the idle work does, and keep what it gives.

    python scripts/make_derived.py FILE --cache CACHE [--model NAME] [--pools 1 0 2] [--near N]
    python scripts/make_derived.py --paraphrase --cache CACHE [--near N] [--questions M]

FILE is in LoCoMo's format. `scripts/eval_recall.py --made CACHE` then tells what it brings. It goes
on where it ended, and may be killed at any time. Several conversations are done side by side
(`--lanes`): a processor writes one token for each of four in less than four times the time. The
seconds that are noted are the model's processor time, so that other programs don't count.
`--near N` takes only N turns of each conversation: those that answer questions, or `--questions M`
of them, and the ones around.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from assistant.idle.jobs.expansion_prompt import prompt, schema, tokens
from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.llm.llama_process import LoadRefused, Worker, WorkerConfig, WorkerDied, WorkerRefused
from models.llm.special_tokens import engine_messages
from scripts.common.last_line import last_line
from scripts.eval.derived_cache import Cache, Call, calls
from scripts.eval.recall_data import Pool, own_files, read_locomo, read_paraphrases

MODEL = "qwen2.5-coder-0.5b-instruct"
CONTEXT = 1536
"""Tokens of one lane."""


class Answered(NamedTuple):
    text: str
    read: int
    generated: int


class Lanes:
    """A model with several KV caches. Belongs to the event loop."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._prompt = prompt()
        self._counted = 0.0

    async def ask(self, lane: int, asked: str) -> Answered:
        body = {
            "messages": engine_messages(self._prompt.messages(asked)),
            "max_tokens": tokens(),
            "temperature": 0.0,
            "id_slot": lane,
            "cache_prompt": True,
            "stream": True,
            "return_progress": True,
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema()}},
        }
        text, usage = "", None
        async with aclosing(self._worker.run(body)) as chunks:
            async for chunk in chunks:
                text += chunk.text
                usage = chunk.usage or usage
        return Answered(
            text, usage.read_tokens if usage else 0, usage.generated_tokens if usage else 0
        )

    def seconds(self) -> float:
        """Processor time since the last call: what several lanes share, split among answers as
        they come."""
        times = psutil.Process(self._worker.pid).cpu_times()
        spent = times.user + times.system
        since, self._counted = spent - self._counted, spent
        return since


async def fill(
    cache: Cache, model: str, worker: Worker, wanted: Sequence[Call], lanes: int
) -> None:
    running = Lanes(worker)
    running.seconds()
    waiting = iter(wanted)
    done = 0

    async def lane(number: int) -> None:
        nonlocal done
        for call in waiting:
            answer = await running.ask(number, call.asked)
            row = {"answer": answer.text, "read": answer.read, "generated": answer.generated}
            cache.keep(model, call, row | {"cpu_s": round(running.seconds(), 3)})
            done += 1
            if done % 20 == 0:
                print(f"{done} of {len(wanted)}", flush=True)

    await asyncio.gather(*(lane(number) for number in range(lanes)))


def near(pool: Pool, count: int, questions: int | None = None) -> list[int]:
    """Rows of answers, and of the turns around them: nearer ones first, until it is enough.

    Args:
        questions: so many of them, spread over all.
    """
    wanted = min(questions or len(pool.questions), len(pool.questions))
    asked = [pool.questions[at * len(pool.questions) // wanted] for at in range(wanted)]
    golds = [gold for each in asked for gold in each.gold]
    rows: dict[int, None] = {}
    for distance in range(len(pool.turns)):
        for gold in golds:
            for row in (gold - distance, gold + distance):
                if 0 <= row < len(pool.turns) and len(rows) < count:
                    rows[row] = None
    return sorted(rows)


def chosen(options: argparse.Namespace) -> list[Call]:
    if options.paraphrase:
        pools = [read_paraphrases(*own_files("paraphrase"))]
    else:
        every = read_locomo(options.file)
        pools = [every[at] for at in options.pools or range(len(every))]
    found: list[Call] = []
    for pool in pools:
        asked: Iterable[Call | None] = calls(pool)
        if options.near:
            rows = set(near(pool, options.near, options.questions))
            asked = (call for row, call in enumerate(asked) if row in rows)
        found += [call for call in asked if call is not None]
    return found[: options.limit]


async def main_async(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    wanted = [call for call in chosen(options) if (options.model, call) not in cache]
    config = WorkerConfig(
        path=str(ModelStore(models_cache(), catalogue.read()).weights(options.model)),
        context_tokens=CONTEXT,
        lanes=options.lanes,
        threads=options.threads,
        batch_threads=options.threads,
        batch=128,
    )
    worker = Worker(config, log=None, on_end=lambda _: None)
    try:
        await worker.start(600)
        await fill(cache, options.model, worker, wanted, options.lanes)
    except (WorkerDied, WorkerRefused, LoadRefused) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        await worker.stop()
    print(last_line({"asked": len(wanted), "model": options.model}))
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?", help="conversations in LoCoMo's format")
    parser.add_argument("--paraphrase", action="store_true", help="the project's own set")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--model", default=MODEL, help="name in the catalogue")
    parser.add_argument("--pools", type=int, nargs="+", help="which conversations, in this order")
    parser.add_argument("--near", type=int, default=0, help="so many turns of each")
    parser.add_argument("--questions", type=int, help="with --near: of so many questions alone")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    options = parser.parse_args(arguments)
    if (options.file is None) is not options.paraphrase:
        parser.error("give either a FILE or --paraphrase")
    try:
        return asyncio.run(main_async(options))
    except (AssistantError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
