"""What remembering and recalling cost, by how much there is to remember.

    python scripts/bench_memory.py [--rows N …] [--encoder NAME …] [--queries N] [--json]

Fills a table on disk with N memories, loads it as a start does, and recalls for facts that were
said among them, in other words and never asked before, encoding included: alone, and beside a
language model that writes all the time. Then the same questions go to LanceDB's own hybrid query
and to mem0 as well, on the same rows and vectors, in turns. mem0 lives in an environment of its own
(docs/benchmarks.md); without that it is left out.

With `--json` the last line is one JSON object: `rows` by N for the first encoder, and all of them
under `encoders`. Times are in milliseconds.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

os.environ["LANCEDB_LOG"] = "error"  # it warns of a change to come, once a query
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.engines import Workshop, open_workshop, query_encoder
from assistant.errors import AssistantError
from assistant.memory.lexicon import Lexicon
from assistant.memory.long_term import LongTermMemory
from assistant.memory.ranking import Ranking
from assistant.memory.table import MemoryTable
from assistant.settings import Settings
from models.disk import weight
from models.interfaces import LanguageModel
from models.llama import LlamaCpp
from models.profiles import NAMES
from models.store import ModelStore
from scripts.bench.filling import USER, Filled, fill
from scripts.bench.remembering import agreement, beside, contexts, recalls, storing, writing
from scripts.bench.report import machine
from scripts.bench.rivals import LanceHybrid, Rival, RivalEnded, mem0

ROOT = Path(__file__).resolve().parent.parent
MEM0 = ROOT / ".venv-bench" / "bin" / "python"
WARM = 10
"""Questions that nobody counts."""
EXHAUSTIVE = 50
"""Questions for which everything is ranked; at 100,000 memories each takes a second."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure, and with what."""

    settings: Settings
    shop: Workshop
    llm: LanguageModel
    queries: int
    rivals: Sequence[str]
    mem0: Path
    mem0_rows: int


async def measure(rows: int, plan: Plan) -> dict[str, Any]:
    """All figures for one number of memories."""
    encoder = query_encoder(plan.shop)
    encoder.load()
    process = psutil.Process()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("kept", "beside"):
            (folder / name).mkdir()
        table = folder / "kept" / "memories"
        filled = fill(table, folder / "beside", rows, encoder)
        asked = [fact.question for fact in filled.facts]
        half = min(plan.queries, len(asked) // 2)
        before = process.memory_info().rss
        memory = LongTermMemory(
            USER,
            lambda: MemoryTable.open(str(table)),
            encoder,
            Lexicon("en"),
            Ranking(),
            lambda _: None,
        )
        stack.push_async_callback(memory.close)
        began = time.perf_counter()
        await memory.load(None)
        found: dict[str, Any] = {"load_s": round(time.perf_counter() - began, 2)}
        await recalls(memory, asked[-WARM:])
        encoder.clear()
        found["alone"] = await recalls(memory, asked[:half])
        found["rss_mb"] = round((process.memory_info().rss - before) / 1e6, 1)
        async with writing(plan.llm):
            found["busy"] = await recalls(memory, asked[half : 2 * half])
        encoder.clear()
        found["context"] = await contexts(memory, plan.llm, plan.settings, asked[:half])
        found["agreement"] = agreement(memory, encoder, filled.facts[:EXHAUSTIVE])
        encoder.clear()
        found["beside"], found["left_out"] = await compared(memory, plan, filled, folder)
        found["storing"] = await storing(folder / "kept", memory)
        found["disk_mb"] = round(weight(folder / "kept") / 1e6, 1)
    return found


async def compared(
    memory: LongTermMemory, plan: Plan, filled: Filled, folder: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Ours beside the others, and why one is left out."""
    rivals: list[Rival] = []
    left_out: dict[str, str] = {}
    encoder = query_encoder(plan.shop)
    encoder.load()
    with ExitStack() as stack:
        stack.callback(encoder.close)
        if "lancedb" in plan.rivals:
            rivals.append(LanceHybrid(folder / "beside" / "lancedb", filled))
        if "mem0" in plan.rivals and (why := _without_mem0(plan, filled.rows)):
            left_out["mem0"] = why
            print(why, file=sys.stderr)
        elif "mem0" in plan.rivals:
            place = folder / "beside"
            rivals.append(stack.enter_context(mem0(plan.mem0, place, filled, encoder.dimensions)))
        facts = filled.facts[: plan.queries]
        return await beside(memory, encoder, rivals, facts) if rivals else {}, left_out


def _without_mem0(plan: Plan, rows: int) -> str | None:
    if not plan.mem0.is_file():
        return f"mem0 is left out: there is no {plan.mem0}; docs/benchmarks.md says how to get it."
    if rows > plan.mem0_rows:
        return f"mem0 is left out at {rows} rows: --mem0-rows is {plan.mem0_rows}."
    return None


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """By encoder, by number of memories.

    Raises:
        AssistantError: a model is missing. RivalEnded: mem0 did not come up.
    """
    settings = Settings.model_validate({"general": {"profile": options.profile}})
    shop = open_workshop(settings)
    llm = LlamaCpp(
        ModelStore.weights(shop.store, shop.profile.llm),
        context_tokens=settings.llm.context_tokens,
        threads=shop.hardware.threads,
    )
    await llm.load()
    found: dict[str, Any] = {}
    try:
        for name in options.encoder or encoders_of_profiles():
            other = replace(shop, profile=replace(shop.profile, encoder=name))
            plan = Plan(
                settings,
                other,
                llm,
                options.queries,
                options.beside,
                options.mem0,
                options.mem0_rows,
            )
            for rows in options.rows:
                figures = await measure(rows, plan)
                found.setdefault(name, {})[str(rows)] = figures
                print(told(name, rows, figures), flush=True)
    finally:
        await llm.close()
    return found


def encoders_of_profiles() -> list[str]:
    """Each that a profile chooses on this machine."""
    shops = [open_workshop(Settings.model_validate({"general": {"profile": n}})) for n in NAMES]
    return list(dict.fromkeys(shop.profile.encoder for shop in shops))


def told(encoder: str, rows: int, found: dict[str, Any]) -> str:
    """For a person."""
    lines = [f"{encoder}, {rows} memories"]
    for state in ("alone", "busy"):
        each = found[state]
        lines.append(
            f"  recall {state:5}  p50 {each['p50']} p95 {each['p95']} p99 {each['p99']} max "
            f"{each['max']} ms; {each['misses']} missed and {each['late']} late of "
            f"{each['recalls']}"
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
    parser.add_argument("--queries", type=int, default=100, help="alone, and as many busy")
    parser.add_argument(
        "--beside",
        nargs="*",
        default=["lancedb", "mem0"],
        choices=("lancedb", "mem0"),
        help="what to compare with",
    )
    parser.add_argument("--mem0", type=Path, default=MEM0, help="interpreter that has mem0")
    parser.add_argument(
        "--mem0-rows", type=int, default=100_000, help="most that it is filled with"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    where = machine()
    logging.disable(logging.WARNING)  # of each miss; they are counted
    try:
        found = asyncio.run(run(options))
    except (AssistantError, RivalEnded) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        first = next(iter(found.values()))
        print(json.dumps({"rows": first, "encoders": found, "machine": where}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
