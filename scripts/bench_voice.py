"""Times the first sound of an answer from the user's end of speech, compared with stock pipecat.

DIR holds recordings of speech and optionally a `manifest.jsonl`, whose form is described in
scripts/bench/voice/labels.py. Each clip is played in real time, with the noise of a quiet room,
once to the assistant and once to the stock pipeline, in alternating order. Both use the same
warmed-up models, and begin a new conversation. The assistant also has its skills, and the
classifier of requests. Times count from an end of speech that was labelled beforehand. With
`--memory`, `--classifier`, `--partials`, `--form`, `--screen` or `--idle` the assistant is compared
with itself instead. With `--skills`, the clips alternate with spoken requests that a skill answers.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

os.environ["LOGURU_AUTOINIT"] = "false"  # pipecat prints a greeting on import
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import located
from scripts.bench.voice import (
    ablation,
    beside_idle,
    beside_screen,
    comparisons,
    report,
    spoken_requests,
    with_memory,
)
from scripts.bench.voice.labels import choose, read_clips, without_commands
from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import Keep

MEMORIES = 300
SPOKEN = len(spoken_requests.REQUESTS)


def work(options: program.Options) -> program.Figures:
    logging.disable(logging.WARNING)
    clips = choose(without_commands(read_clips(options.clips)), options.limit, options.seed)
    if options.screen:
        compare, told = comparisons.against_headless, beside_screen.table
    elif options.idle:
        compare, told = comparisons.against_idle, beside_idle.table
    elif options.memory:
        compare = partial(comparisons.against_forgetful, memories=options.memory)
        told = with_memory.table
    elif options.classifier:
        compare, told = comparisons.against_unclassified, ablation.table
    elif options.partials:
        compare, told = comparisons.without_partials, ablation.table
    elif options.form:
        compare, told = comparisons.against_formless, ablation.table
    elif options.skills:
        compare = partial(comparisons.of_requests, count=options.skills)
        told = spoken_requests.table
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
        help="folder of recordings; by default those included",
    )
    add_number(parser, "--limit", None, "use only N recordings, drawn at random")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument(
        "--memory",
        type=program.at_least(1),
        nargs="?",
        const=MEMORIES,
        metavar="N",
        help=f"compare with and without N memories ({MEMORIES} if N is left out)",
    )
    beside.add_argument(
        "--classifier", action="store_true", help="compare with and without the classifier"
    )
    beside.add_argument(
        "--partials",
        action="store_true",
        help="compare with and without transcripts made while the user still speaks",
    )
    beside.add_argument(
        "--form", action="store_true", help="compare with a half-filled form open and with none"
    )
    beside.add_argument(
        "--skills",
        type=program.at_least(1),
        nargs="?",
        const=SPOKEN,
        metavar="N",
        help=f"time the replies to N spoken requests ({SPOKEN} if N is left out)",
    )
    beside.add_argument("--screen", action="store_true", help="compare with and without the screen")
    beside.add_argument("--idle", action="store_true", help="compare with and without idle work")
    add_number(parser, "--seed", 1, "seed of the choice, the order and the intervals", least=0)
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write a row for each clip to this file"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
