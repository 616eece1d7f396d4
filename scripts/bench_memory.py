"""What remembering and recalling cost, by how much there is to remember.

Fills a table on disk with N memories, loads it as a start does, and recalls for facts that were
said among them, in other words, with nothing of a question in a cache, encoding included: alone,
and beside a language model that writes all the time. Then the same questions go to LanceDB's own
hybrid query and to mem0 as well, on the same rows and vectors, in turns. mem0 lives in an
environment of its own (docs/benchmarks.md); without that it is left out.

Where an encoder has a stand-in, questions whose words were known before their end (`ahead`) and
typed ones, which have more time (`typed`), are asked too. Times are in milliseconds.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["LANCEDB_LOG"] = "error"  # it warns of a change to come, once a query
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.settings import Settings
from models.selection.profiles import NAMES
from models.selection.requested import select_models
from scripts.bench.memory.measuring import Wanted, measured
from scripts.common import program
from scripts.common.assistant_process import ROOT

MEM0 = ROOT / ".venv-bench" / "bin" / "python"
RIVALS = ("lancedb", "mem0")


def work(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for encoder in options.encoder or encoders_of_profiles():
        wanted = Wanted(
            encoder,
            options.profile,
            options.queries,
            tuple(options.beside),
            options.mem0,
            options.mem0_rows,
        )
        for rows in options.rows:
            each = measured(rows, wanted)
            found.setdefault(encoder, {})[str(rows)] = each
            for why in each["left_out"].values():
                print(why, file=sys.stderr)
            print(told(encoder, rows, each), flush=True)
    first = next(iter(found))
    return {"rows": found[first], "encoder": first, "encoders": found}


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


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    count = program.at_least(1)
    rows = [1_000, 10_000, 100_000]
    parser.add_argument("--rows", type=count, nargs="+", default=rows, help="memories")
    parser.add_argument(
        "--encoder",
        nargs="+",
        metavar="NAME[+STAND_IN]",
        help="default: each that a profile chooses",
    )
    program.add_profile(parser)
    parser.add_argument("--queries", type=count, default=250, help="alone, and as many busy")
    parser.add_argument(
        "--beside", nargs="*", default=RIVALS, choices=RIVALS, help="what to compare with"
    )
    parser.add_argument(
        "--mem0", type=Path, default=MEM0, metavar="PYTHON", help="an interpreter that has mem0"
    )
    parser.add_argument(
        "--mem0-rows",
        type=int,
        default=10_000,
        help="most that it is filled with: beyond them a question takes it seconds",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
