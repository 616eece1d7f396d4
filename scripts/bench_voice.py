"""From the end of the user's speech to the first sound of the answer: ours beside stock pipecat.

DIR holds recordings of speech, and where there is one a `manifest.jsonl`, whose form
scripts/bench/voice/labels.py describes. Each clip is said, at its own pace and with the noise of a
quiet room around it, once to the assistant and once to the stock pipeline, in alternating order;
both have the same models, warm, and a fresh conversation. Times count from an end of speech that
was labelled beforehand. With `--memory`, `--screen` or `--idle` the assistant is compared with
itself instead.
"""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ["LOGURU_AUTOINIT"] = "false"  # pipecat greets on standard error when imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import located
from scripts.bench.voice import (
    beside_idle,
    beside_screen,
    comparisons,
    report,
    with_memory,
)
from scripts.bench.voice.labels import choose, read_clips, without_commands
from scripts.common import program
from scripts.common.rows import Keep

MEMORIES = 300


def work(options: argparse.Namespace) -> dict[str, Any]:
    logging.disable(logging.WARNING)
    clips = choose(without_commands(read_clips(options.clips)), options.limit, options.seed)
    if options.screen:
        compare, told = comparisons.against_headless, beside_screen.table
    elif options.idle:
        compare, told = comparisons.against_idle, beside_idle.table
    elif options.memory:
        compare = partial(comparisons.against_forgetful, memories=options.memory)
        told = with_memory.table
    else:
        compare, told = comparisons.against_stock, report.table
    found = asyncio.run(compare(clips, options.profile, options.seed, Keep(options.keep)))
    print(told(found))
    return found | {"profile": options.profile}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument(
        "--clips",
        type=Path,
        default=located("recordings"),
        metavar="DIR",
        help="folder of recordings (default: those that ship)",
    )
    parser.add_argument(
        "--limit", type=program.at_least(1), metavar="N", help="only N of them, drawn at random"
    )
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument(
        "--memory",
        type=program.at_least(1),
        nargs="?",
        const=MEMORIES,
        metavar="N",
        help=f"compare with and without a memory of N things ({MEMORIES} where N is left out)",
    )
    beside.add_argument("--screen", action="store_true", help="compare with and without a screen")
    beside.add_argument(
        "--idle", action="store_true", help="compare with and without work between utterances"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice, order and intervals")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each clip's row here")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
