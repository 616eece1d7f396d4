"""A long conversation: what the model reads for a turn, and whether memory grows.

Types N messages to the `assistant` command, each some seconds after the answer to the last. Of each
turn it counts the tokens that the model read before its first word, and of these what is neither of
the newest message nor of the memories in the prompt; and compares the resident memory of all
processes after turn 10 and after the last. With `--remembered` so many exchanges were told two
months ago, and every third message asks for one of them. With `--idle` the language model judges
facts whenever it is quiet.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.conversation import ALLOWED_OVER, EARLY_TURN, measured
from scripts.common import program


def work(options: argparse.Namespace) -> dict[str, Any]:
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
    print(
        f"read beside these and the newest message: p50 {read['p50']}, at most {read['max']} tokens"
    )
    print(f"turns above {ALLOWED_OVER}: {read['turns_above'] or 'none'}")
    print(f"memory growth after turn {EARLY_TURN}: {found.get('memory_growth_percent', '-')} %")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument("--turns", type=program.at_least(1), default=100, metavar="N")
    parser.add_argument("--answer-tokens", type=int, help="longest answer; default: the setting's")
    parser.add_argument("--pause", type=float, default=1.0, metavar="S", help="between turns")
    parser.add_argument("--remembered", type=int, default=0, help="exchanges of long ago")
    parser.add_argument("--seed", type=int, default=1, help="of what is said")
    parser.add_argument("--idle", action="store_true", help="with work between utterances")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
