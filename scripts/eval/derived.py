"""A model's descriptions of the turns of conversations, by the idle work's own prompt."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

import psutil

from assistant.errors import ModelFailed
from assistant.idle.jobs.expansion_prompt import prompt, schema, tokens
from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.llm.llama_process import LoadRefused, Worker, WorkerConfig, WorkerDied, WorkerRefused
from models.llm.special_tokens import engine_messages
from scripts.eval.derived_cache import Cache, Call, calls
from scripts.eval.recall_data import Pool

CONTEXT = 1536
"""Tokens of one lane."""
START_S = 600.0


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


def chosen(
    pools: Sequence[Pool], near_answers: int = 0, questions: int | None = None
) -> list[Call]:
    """The calls of all turns that tell something, or of so many near the answers in each pool."""
    found: list[Call] = []
    for pool in pools:
        rows = set(near(pool, near_answers, questions)) if near_answers else None
        asked = enumerate(calls(pool))
        found += [call for row, call in asked if call and (rows is None or row in rows)]
    return found


async def made(cache: Cache, model: str, wanted: Sequence[Call], lanes: int) -> int:
    """Asks for what is not in the cache, and returns how much that was.

    Raises:
        ModelError: the model is missing, or could not be run.
    """
    missing = [call for call in wanted if (model, call) not in cache]
    threads = max(1, (os.cpu_count() or 2) - 1)
    config = WorkerConfig(
        path=str(ModelStore(models_cache(), catalogue.read()).weights(model)),
        context_tokens=CONTEXT,
        lanes=lanes,
        threads=threads,
        batch_threads=threads,
        batch=128,
    )
    worker = Worker(config, log=None, on_end=lambda _: None)
    try:
        await worker.start(START_S)
        await fill(cache, model, worker, missing, lanes)
    except (WorkerDied, WorkerRefused, LoadRefused) as error:
        raise ModelFailed(f"{model} could not go on: {error}") from error
    finally:
        await worker.stop()
    return len(missing)
