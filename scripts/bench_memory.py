"""What remembering and recalling cost, by how much there is to remember.

    python scripts/bench_memory.py [--rows N …] [--encoder NAME[+STAND_IN] …] [--queries N] [--json]

Fills a table on disk with N memories, loads it as a start does, and recalls for facts that were
said among them, in other words, with nothing of a question in a cache, encoding included: alone,
and beside a language model that writes all the time. Then the same questions go to LanceDB's own
hybrid query and to mem0 as well, on the same rows and vectors, in turns. mem0 lives in an
environment of its own (docs/benchmarks.md); without that it is left out.

Where an encoder has a stand-in, questions whose words were known before their end (`ahead`) and
typed ones, which have more time (`typed`), are asked too.

With `--json` the last line is one JSON object: `rows` by N for the first `encoder`, and all of them
under `encoders`. Times are in milliseconds.
"""

import argparse
import asyncio
import gc
import json
import logging
import os
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

os.environ["LANCEDB_LOG"] = "error"  # it warns of a change to come, once a query
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.compose.engines import build_query_encoder
from assistant.errors import AssistantError
from assistant.idle.jobs.compaction import FOLDED
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.store.table import MemoryTable
from assistant.memory.user_memory import UserMemory
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.download.disk import folder_bytes
from models.llm.llama import LlamaCpp
from models.selection.profiles import NAMES
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
from scripts.bench.memory.rivals import LanceHybrid, Rival, RivalEnded, mem0
from scripts.common.last_line import last_line, machine

ROOT = Path(__file__).resolve().parent.parent
MEM0 = ROOT / ".venv-bench" / "bin" / "python"
WARM = 10
"""Questions that nobody counts."""
COMPARED = 60
"""Questions that the others are asked too."""
EXHAUSTIVE = 200
"""Questions for which everything is ranked; at 100,000 memories each takes a second."""


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure, and with what."""

    options: argparse.Namespace
    settings: Settings
    shop: ModelSelection

    @classmethod
    def of(cls, options: argparse.Namespace, encoder: str) -> "Plan":
        settings = Settings.model_validate({"general": {"profile": options.profile}})
        shop = select_models(settings)
        name, _, stand_in = encoder.partition("+")
        profile = replace(shop.profile, encoder=name, stand_in=stand_in or None)
        return cls(options, settings, replace(shop, choice=replace(shop.choice, profile=profile)))

    def encoder(self) -> QueryEncoder:
        encoder = build_query_encoder(self.shop)
        encoder.load()
        return encoder


def figures(rows: int, encoder: str, options: argparse.Namespace) -> dict[str, Any]:
    """All figures for one number of memories and one encoder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("kept", "beside"):
            (folder / name).mkdir()
        filled = alone(filling, rows, encoder, options, folder)
        return alone(measuring, filled, encoder, options, folder)


def alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """In a process of its own: what one leaves in RAM is not counted with the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def filling(rows: int, encoder: str, options: argparse.Namespace, folder: Path) -> Filled:
    return fill(
        folder / "kept" / "memories", folder / "beside", rows, Plan.of(options, encoder).encoder()
    )


def measuring(
    filled: Filled, encoder: str, options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    logging.disable(logging.WARNING)  # of each miss; they are counted
    threadpool_limits(limits=1, user_api="blas")  # as the assistant does
    return asyncio.run(measure(filled, Plan.of(options, encoder), folder))


class Found(dict[str, Any]):
    """Figures by name; each is told when it is there, since the whole takes its time."""

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
        asked = [fact.question for fact in filled.facts[: plan.options.queries]]
        before = process.memory_info().rss
        memory = UserMemory(
            USER,
            lambda: MemoryTable.open(str(folder / "kept" / "memories")),
            encoder,
            TextAnalyzer("en"),
            Ranking(),
            lambda _: None,
        )
        stack.push_async_callback(memory.close)
        began = time.perf_counter()
        await memory.load(None)
        gc.collect()
        gc.freeze()  # as the program does
        if memory.untidy(FOLDED):  # as the first silence does
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
    """Ours beside the others, and why one is left out."""
    rivals: list[Rival] = []
    left_out: dict[str, str] = {}
    encoder = plan.encoder()
    with ExitStack() as stack:
        stack.callback(encoder.close)
        wanted = plan.options.beside
        if "lancedb" in wanted:
            rivals.append(LanceHybrid(folder / "beside" / "lancedb", filled))
        if "mem0" in wanted and (why := _without_mem0(plan.options, filled.rows)):
            left_out["mem0"] = why
        elif "mem0" in wanted:
            place = folder / "beside"
            rivals.append(
                stack.enter_context(mem0(plan.options.mem0, place, filled, encoder.dimensions))
            )
        facts = filled.facts[: min(plan.options.queries, COMPARED)]
        return await beside(memory, encoder, rivals, facts) if rivals else {}, left_out


def _without_mem0(options: argparse.Namespace, rows: int) -> str | None:
    python: Path = options.mem0
    if not python.is_file():
        return f"mem0 is left out: there is no {python}; docs/benchmarks.md says how to get it."
    if rows > options.mem0_rows:
        return f"mem0 is left out at {rows} rows: --mem0-rows is {options.mem0_rows}."
    return None


def encoders_of_profiles() -> list[str]:
    """Each that a profile chooses on this machine, with the one that stands in for it."""
    shops = [select_models(Settings.model_validate({"general": {"profile": n}})) for n in NAMES]
    chosen = [(shop.profile.encoder, shop.profile.stand_in) for shop in shops]
    return ["+".join(filter(None, names)) for names in dict.fromkeys(chosen)]


def told(encoder: str, rows: int, found: dict[str, Any]) -> str:
    """For a person."""
    lines = [f"{encoder}, {rows} memories"]
    for state in ("alone", "ahead", "typed", "busy"):
        each = found.get(state)
        if each is None:
            continue
        lines.append(
            f"  recall {state:5}  p50 {each['p50']} p95 {each['p95']} p99 {each['p99']} max "
            f"{each['max']} ms; {each['misses']} missed, {each['brief']} in brief, "
            f"{each['stand_in']} by the stand-in and {each['late']} late of {each['recalls']}"
        )
    context, kept, near = found["context"], found["storing"], found["agreement"]
    lines.append(
        f"  recall and prompt  p50 {context['with_recall_ms']['p50']} p99 "
        f"{context['with_recall_ms']['p99']} ms; {context['tokens']} tokens"
    )
    lines.append(
        f"  storing  p50 {kept['stored_ms']['p50']} p99 {kept['stored_ms']['p99']} ms; with its "
        f"vector after p50 {kept['embedded_ms']['p50']} ms"
    )
    lines.append(
        f"  loaded in {found['load_s']} s, {found['rss_mb']} MB of RAM, {found['disk_mb']} MB on "
        f"disk; R@10 {near['R@10']}, exhaustive {near['R@10_exhaustive']}"
    )
    for name, each in found["beside"].items():
        against = f"  {name:8} p50 {each['p50']} p95 {each['p95']} ms, hit@10 {each['hit@10']}"
        if name != "ours":
            against += f", {each['ratio_p50']} x ours {each['ratio_p50_interval']}"
        lines.append(against)
    return "\n".join(lines)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--encoder", nargs="+", help="default: each that a profile chooses")
    parser.add_argument("--profile", default="tiny", help="whose language model writes beside it")
    parser.add_argument("--queries", type=int, default=250, help="alone, and as many busy")
    parser.add_argument(
        "--beside",
        nargs="*",
        default=["lancedb", "mem0"],
        choices=("lancedb", "mem0"),
        help="what to compare with",
    )
    parser.add_argument("--mem0", type=Path, default=MEM0, help="interpreter that has mem0")
    parser.add_argument(
        "--mem0-rows",
        type=int,
        default=10_000,
        help="most that it is filled with: beyond them a question takes it seconds",
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    where = machine()
    found: dict[str, dict[str, Any]] = {}
    try:
        for encoder in options.encoder or encoders_of_profiles():
            for rows in options.rows:
                each = figures(rows, encoder, options)
                found.setdefault(encoder, {})[str(rows)] = each
                for why in each["left_out"].values():
                    print(why, file=sys.stderr)
                print(told(encoder, rows, each), flush=True)
    except (AssistantError, RivalEnded) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        first = next(iter(found))
        whole = {"rows": found[first], "encoder": first, "encoders": found, "machine": where}
        print(last_line(whole))
    return 0


if __name__ == "__main__":
    sys.exit(main())
