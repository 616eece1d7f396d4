"""Measures what remembering and recalling cost, by the number of memories.

Fills a table on disk with N memories, loads it as the assistant does when it starts, and asks, in
paraphrase, for facts that the memories contain. The questions are in no cache, so the times include
encoding them. They are asked on an idle machine (`alone`) and while a language model generates text
(`busy`). If an encoder has a stand-in (a faster encoder, used when the stronger one is late), the
questions are also asked with their words known before the end of speech (`ahead`), and as typed
questions, which have more time (`typed`). LanceDB's own hybrid query and mem0 are asked the same
questions alternately, on the same rows and vectors. mem0 needs a separate environment
(docs/benchmarks.md); without that environment, mem0 is left out. Times are in milliseconds.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from models.selection import PROFILE_NAMES

os.environ["LANCEDB_LOG"] = "error"  # each query would warn about a future change
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.settings import Settings
from models.selection.requested import select_models
from scripts.bench.memory.measuring import Wanted, measured
from scripts.common import program
from scripts.common.assistant_process import ROOT
from scripts.common.program import add_number

MEM0 = ROOT / ".venv-bench" / "bin" / "python"
RIVALS = ("lancedb", "mem0")


def work(options: program.Options) -> program.Figures:
    found: dict[str, program.Figures] = {}
    wanted = program.fill(Wanted, options)
    for encoder in options.encoder or encoders_of_profiles():
        for rows in options.rows:
            each = measured(rows, encoder, wanted)
            found.setdefault(encoder, {})[str(rows)] = each
            for why in each["left_out"].values():
                print(why, file=sys.stderr)
            print(told(encoder, rows, each), flush=True)
    first = next(iter(found))
    return {"rows": found[first], "encoder": first, "encoders": found}


def encoders_of_profiles() -> list[str]:
    """The encoders that profiles choose on this machine, each with its stand-in."""
    shops = [
        select_models(Settings.model_validate({"general": {"profile": n}})) for n in PROFILE_NAMES
    ]
    chosen = [(shop.profile.encoder, shop.profile.stand_in) for shop in shops]
    return ["+".join(filter(None, names)) for names in dict.fromkeys(chosen)]


def told(encoder: str, rows: int, found: program.Figures) -> str:
    """The figures as text for a person."""
    lines = [f"{encoder}, {rows} memories"]
    for state in ("alone", "ahead", "typed", "busy"):
        each = found.get(state)
        if each is None:
            continue
        lines.append(
            f"  recall {state:5}  p50 {each['p50']} p95 {each['p95']} p99 {each['p99']} max "
            f"{each['max']} ms; of {each['recalls']} recalls: {each['misses']} missed, "
            f"{each['brief']} in brief, {each['stand_in']} by the stand-in, {each['late']} late"
        )
    context, kept, near = found["context"], found["storing"], found["agreement"]
    lines.append(
        f"  recall and prompt  p50 {context['with_recall_ms']['p50']} p99 "
        f"{context['with_recall_ms']['p99']} ms; {context['tokens']} tokens"
    )
    lines.append(
        f"  storing  p50 {kept['stored_ms']['p50']} p99 {kept['stored_ms']['p99']} ms; until the "
        f"vector is in the table p50 {kept['embedded_ms']['p50']} ms"
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
    rows = [1_000, 10_000, 100_000]
    add_number(parser, "--rows", rows, "numbers of memories", nargs="+")
    parser.add_argument(
        "--encoder",
        nargs="+",
        metavar="NAME[+STAND_IN]",
        help="encoders; by default those that profiles choose",
    )
    program.add_profile(parser)
    add_number(parser, "--queries", 250, "questions to ask in each state")
    parser.add_argument(
        "--beside",
        nargs="*",
        default=RIVALS,
        choices=RIVALS,
        help="systems to compare with (default: all; without names: none)",
    )
    parser.add_argument(
        "--mem0",
        type=Path,
        default=MEM0,
        metavar="PYTHON",
        help="Python interpreter of the environment with mem0",
    )
    add_number(
        parser,
        "--mem0-rows",
        10_000,
        "with more memories, mem0 is left out, since it takes seconds for a question",
        least=0,
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
