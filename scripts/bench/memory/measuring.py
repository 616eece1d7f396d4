"""Fills a table of memories, then measures loading, recall, rivals and storing.

Filling and measuring run in separate processes.
"""

import asyncio
import gc
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import psutil
from threadpoolctl import threadpool_limits

from assistant.compose.engines import build_query_encoder
from assistant.idle.jobs.compaction import FOLDED
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from assistant.memory.user_memory import UserMemory
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.download.disk import folder_bytes
from models.llm.llama import LlamaCpp
from models.selection.requested import ModelSelection, select_models
from scripts.bench.filling import USER, Filled, fill
from scripts.bench.memory.remembering import (
    TYPED_S,
    agreement,
    beside,
    contexts,
    recalls,
    storing,
    writing,
)
from scripts.bench.memory.rivals import LanceHybrid, Rival, mem0

WARM = 10
"""Number of questions that only warm up the memory and are not measured."""
COMPARED = 60
"""At most this many questions are also put to the rivals."""
EXHAUSTIVE = 200
"""Number of questions for which all memories are ranked. With 100,000 memories, each takes a
second."""


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure: how many questions, the profile of the language model, and which rivals.

    `mem0` is a Python interpreter with mem0 installed. With more than `mem0_rows` rows, mem0 is
    left out.
    """

    profile: str
    queries: int
    beside: Sequence[str]
    mem0: Path
    mem0_rows: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure, and the settings and models that this selects on this machine."""

    wanted: Wanted
    settings: Settings
    shop: ModelSelection

    @classmethod
    def of(cls, wanted: Wanted, encoder: str) -> "Plan":
        settings = Settings.model_validate({"general": {"profile": wanted.profile}})
        shop = select_models(settings)
        name, _, stand_in = encoder.partition("+")
        profile = replace(shop.profile, encoder=name, stand_in=stand_in or None)
        chosen = replace(shop, choice=replace(shop.choice, profile=profile))
        return cls(wanted, settings, chosen)

    def encoder(self) -> QueryEncoder:
        encoder = build_query_encoder(self.shop)
        encoder.load()
        return encoder


def measured(rows: int, encoder: str, wanted: Wanted) -> dict[str, Any]:
    """All figures for one number of memories and one encoder, optionally with its stand-in
    ("NAME+STAND_IN")."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("kept", "beside"):
            (folder / name).mkdir()
        filled = alone(filling, rows, encoder, wanted, folder)
        return alone(measuring, filled, encoder, wanted, folder)


def alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call `function` in its own process, so that memory left by one call is not counted in the
    next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def filling(rows: int, encoder: str, wanted: Wanted, folder: Path) -> Filled:
    plan = Plan.of(wanted, encoder)
    return fill(folder / "kept" / "memories", folder / "beside", rows, plan.encoder())


def measuring(filled: Filled, encoder: str, wanted: Wanted, folder: Path) -> dict[str, Any]:
    logging.disable(logging.WARNING)  # each miss logs a warning; misses are counted instead
    threadpool_limits(limits=1, user_api="blas")  # as the assistant does
    return asyncio.run(measure(filled, Plan.of(wanted, encoder), folder))


class Found(dict[str, Any]):
    """Figures by name. Each is printed as soon as it is known, since measuring is slow."""

    def note(self, name: str, value: Any) -> None:
        self[name] = value
        print(f"{name}: {json.dumps(value)}", file=sys.stderr, flush=True)


async def measure(filled: Filled, plan: Plan, folder: Path) -> dict[str, Any]:
    process, encoder = psutil.Process(), plan.encoder()
    async with AsyncExitStack() as stack:
        llm = LlamaCpp(
            ModelStore.weights(plan.shop.store, plan.shop.profile.llm),
            context_tokens=plan.settings.llm.context_tokens,
            threads=plan.shop.hardware.threads,
        )
        stack.push_async_callback(llm.close)
        await llm.load()
        asked = [fact.question for fact in filled.facts[: plan.wanted.queries]]
        before = process.memory_info().rss
        memory = UserMemory(
            USER,
            lambda: MemoryTable.open(str(folder / "kept" / "memories")),
            encoder,
            TextAnalyzer("en"),
            lambda _: None,
        )
        stack.push_async_callback(memory.close)
        began = time.perf_counter()
        await memory.load(None)
        gc.collect()
        gc.freeze()  # as the assistant does
        if memory.untidy(FOLDED):  # as the assistant does in the first silence
            await memory.tidy(FOLDED)
        found = Found({"load_s": round(time.perf_counter() - began, 2)})
        await asyncio.wrap_future(memory.strengthening.begin())
        found.note("stronger_after_s", round(time.perf_counter() - began, 2))
        await recalls(memory, asked[:WARM])
        encoder.clear()
        found.note("alone", await recalls(memory, asked))
        found.note("rss_mb", round((process.memory_info().rss - before) / 1e6, 1))
        if encoder.stronger is not None:
            for name, how in (("ahead", {"ahead": True}), ("typed", {"deadline_s": TYPED_S})):
                encoder.clear()
                found.note(name, await recalls(memory, asked, **how))
        encoder.clear()
        async with writing(llm):
            found.note("busy", await recalls(memory, asked))
        encoder.clear()
        found.note("context", await contexts(memory, llm, plan.settings, asked))
        found.note("agreement", agreement(memory, encoder, filled.facts[:EXHAUSTIVE]))
        encoder.clear()
        others, left_out = await compared(memory, plan, filled, folder)
        found.note("beside", others)
        found.note("left_out", left_out)
        found.note("storing", await storing(folder / "kept", memory))
        found.note("disk_mb", round(folder_bytes(folder / "kept") / 1e6, 1))
    return dict(found)


async def compared(
    memory: UserMemory, plan: Plan, filled: Filled, folder: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Our memory compared with its rivals, and why a rival was left out."""
    rivals: list[Rival] = []
    left_out: dict[str, str] = {}
    encoder = plan.encoder()
    with ExitStack() as stack:
        stack.callback(encoder.close)
        beside_it = plan.wanted.beside
        if "lancedb" in beside_it:
            rivals.append(LanceHybrid(folder / "beside" / "lancedb", filled))
        if "mem0" in beside_it and (why := _without_mem0(plan.wanted, filled.rows)):
            left_out["mem0"] = why
        elif "mem0" in beside_it:
            place = folder / "beside"
            rivals.append(
                stack.enter_context(mem0(plan.wanted.mem0, place, filled, encoder.dimensions))
            )
        facts = filled.facts[: min(plan.wanted.queries, COMPARED)]
        return await beside(memory, encoder, rivals, facts) if rivals else {}, left_out


def _without_mem0(wanted: Wanted, rows: int) -> str | None:
    if not wanted.mem0.is_file():
        return (
            f"mem0 is left out: there is no {wanted.mem0}; docs/benchmarks.md says how to get it."
        )
    if rows > wanted.mem0_rows:
        return f"mem0 is left out at {rows} rows: --mem0-rows is {wanted.mem0_rows}."
    return None
