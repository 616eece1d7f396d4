"""Measures what the model reads for each turn of a long conversation, and whether memory use grows.

Types N messages into the `assistant` command, each a moment after the last answer. For every turn,
it counts the tokens that the model read before its first word, and how many of them are not part of
the newest message, the memories or the date. It also compares the resident memory of all processes
after turn 10 with that after the last turn. With `--remembered`, the memory contains that many
exchanges from two months ago, and every third message asks about one of them. With `--idle`, the
language model judges facts whenever nobody is talking.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.conversation import ALLOWED_OVER, EARLY_TURN, measured
from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    found = measured(
        profile=options.profile,
        turns=options.turns,
        seed=options.seed,
        answer_tokens=options.answer_tokens,
        pause_s=options.pause,
        remembered=options.remembered,
        idle=options.idle,
    )
    read = found["read_over_newest_tokens"]
    print(f"turns with memories {found['with_memories']}, with the date {found['with_date']}")
    print(f"tokens read beyond these and the newest message: p50 {read['p50']}, max {read['max']}")
    print(f"turns above {ALLOWED_OVER}: {read['turns_above'] or 'none'}")
    print(f"memory growth after turn {EARLY_TURN}: {found.get('memory_growth_percent', '-')} %")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    add_number(parser, "--turns", 100, "messages to type")
    add_number(parser, "--answer-tokens", None, "longest answer; default: setting", least=0)
    parser.add_argument(
        "--pause", type=float, default=1.0, metavar="S", help="seconds between turns"
    )
    add_number(parser, "--remembered", 0, "exchanges remembered from long ago", least=0)
    add_number(parser, "--seed", 1, "seed of the random choice of messages", least=0)
    parser.add_argument("--idle", action="store_true", help="during endless idle work")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
