"""Makes a model describe the turns of conversations, with idle work's prompt."""

import os
from collections.abc import Sequence
from contextlib import aclosing

import psutil

from assistant.idle.jobs.expansion_prompt import prompt, schema, tokens
from models.interfaces import Generation, Lane
from models.llm.llama import LlamaCpp
from scripts.eval.asking import language_model
from scripts.eval.derived_cache import Cache, Call, calls
from scripts.eval.recall_data import Pool

TOLD_EVERY = 20


def near(pool: Pool, count: int, questions: int | None = None) -> list[int]:
    """The rows, in order, of up to `count` turns: the answers, and the turns nearest to them.

    Args:
        questions: number of evenly spaced questions whose answers are used; None for all.
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
    """The calls for all informative turns. With `near_answers`, only that many turns of each pool
    are considered, those nearest to answers."""
    found: list[Call] = []
    for pool in pools:
        rows = set(near(pool, near_answers, questions)) if near_answers else None
        asked = enumerate(calls(pool))
        found += [call for row, call in asked if call and (rows is None or row in rows)]
    return found


async def made(cache: Cache, model: str, wanted: Sequence[Call]) -> int:
    """Ask the model for the answers that are not cached, and return their number.

    Raises:
        ModelError: the model is missing or failed.
    """
    missing = [call for call in wanted if (model, call) not in cache]
    if not missing:
        return 0
    form = prompt()
    # One thread: several would wait for each other, and the waiting would count as processor time.
    async with language_model(model, threads=1) as llm:
        spent = cpu_seconds(llm)
        for done, call in enumerate(missing, 1):
            text, usage = "", None
            messages = form.messages(call.asked)
            request = Generation(messages, tokens(), 0.0, schema(), Lane.BACKGROUND)
            async with aclosing(llm.stream(request)) as chunks:
                async for chunk in chunks:
                    text, usage = text + chunk.text, chunk.usage or usage
            read, generated = (usage.read_tokens, usage.generated_tokens) if usage else (0, 0)
            before, spent = spent, cpu_seconds(llm)
            row = {"answer": text, "read": read, "generated": generated}
            cache.keep(model, call, row | {"cpu_s": round(spent - before, 3)})
            if done % TOLD_EVERY == 0:
                print(f"{done} of {len(missing)}", flush=True)
    return len(missing)


def cpu_seconds(llm: LlamaCpp) -> float:
    times = psutil.Process(llm.worker_pid or os.getpid()).cpu_times()
    return float(times.user + times.system)
