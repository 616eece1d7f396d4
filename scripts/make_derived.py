"""Have a model describe the turns of a benchmark, as the idle work does, and keep what it gives.

FILE is in LoCoMo's format. `scripts/eval_recall.py --made CACHE` then tells what it brings. It goes
on where it ended, and may be killed at any time. Several conversations are done side by side
(`--lanes`): a processor writes one token for each of four in less than four times the time. The
seconds that are noted are the model's processor time, so that other programs don't count.
`--near N` takes only N turns of each conversation: those that answer questions, or `--questions M`
of them, and the ones around.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.rows import InputUnusable
from scripts.eval.derived import chosen, made
from scripts.eval.derived_cache import Cache
from scripts.eval.recall_data import Pool, own_files, read_locomo, read_paraphrases

MODEL = "qwen2.5-coder-0.5b-instruct"


def work(options: argparse.Namespace) -> dict[str, Any]:
    wanted = chosen(pools_of(options), options.near, options.questions)
    asked = asyncio.run(made(Cache(options.cache), options.model, wanted, options.lanes))
    print(f"{asked} turns were asked about, {len(wanted) - asked} were in the cache")
    return {"asked": asked, "model": options.model}


def pools_of(options: argparse.Namespace) -> list[Pool]:
    if options.paraphrase:
        return [read_paraphrases(*own_files("paraphrase"))]
    every = read_locomo(options.file)
    if options.pools and max(options.pools) >= len(every):
        raise InputUnusable(f"There are {len(every)} conversations in {options.file}, from 0 on.")
    return [every[at] for at in options.pools or range(len(every))]


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    count = program.at_least(1)
    parser.add_argument("file", type=Path, nargs="?", help="conversations in LoCoMo's format")
    parser.add_argument("--paraphrase", action="store_true", help="the project's own set")
    parser.add_argument("--cache", type=Path, required=True, help="file of the answers")
    parser.add_argument("--model", default=MODEL, help="in the catalogue (default: %(default)s)")
    parser.add_argument(
        "--pools",
        type=program.at_least(0),
        nargs="+",
        metavar="N",
        help="which conversations, from 0 on, in this order",
    )
    parser.add_argument("--near", type=int, default=0, metavar="N", help="so many turns of each")
    parser.add_argument("--questions", type=count, metavar="M", help="with --near: of so many")
    parser.add_argument("--lanes", type=count, default=4, help="turns at a time")
    options = parser.parse_args(arguments)
    if (options.file is None) is not options.paraphrase:
        parser.error("give either a FILE or --paraphrase")
    return program.run(work, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
