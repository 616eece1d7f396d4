"""Measures how soon the assistant knows that a turn is over, and how often it is wrong.

The speech comes from the recordings in DIR, with a manifest as described in
scripts/bench/voice/labels.py, or from a part of `data/evaluation/turns.jsonl`: the profile's voice
speaks these turns, with pauses where their writers marked them. The profile's recogniser and both
judges of the end of turns listen to each pause. Then the rules are compared on what they
heard: ours with several values of the setting `turn.patience`, Smart Turn as pipecat ships it, and
a fixed silence.

`split` is the share of finished turns that were ended in a pause, `cut_off` the share of unfinished
phrases that were ended within 1.5 s, each with a 95 % interval. `wait` is the time in milliseconds
from the labelled end of a finished turn's speech until the turn was over.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.turns.hearing import Wanted, heard
from scripts.bench.turns.policies import compared, table
from scripts.common import program
from scripts.common.spoken_turns import PARTS


def work(options: program.Options) -> program.Figures:
    found = {
        name: compared(some, options.patience)
        for name, some in heard(program.fill(Wanted, options)).items()
    }
    for name, figures in found.items():
        print(table(name, figures))
    return {"profile": options.profile} | found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument("--clips", type=Path, metavar="DIR", help="folder of recordings")
    parser.add_argument(
        "--spoken", dest="part", choices=PARTS, help="part of the evaluation set that is spoken"
    )
    parser.add_argument(
        "--patience",
        type=float,
        nargs="+",
        default=[0.5, 0.7, 1.0, 1.5, 2.0],
        metavar="P",
        help="values of turn.patience",
    )
    program.add_number(parser, "--limit", None, "use only N recordings, and N turns")
    program.add_number(parser, "--seed", 1, "seed of the pauses' lengths", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
