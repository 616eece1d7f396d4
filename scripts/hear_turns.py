"""Speaks the turns for training, and writes what the recogniser hears of them at each pause.

The profile's voice speaks each turn of `data/training/turns.jsonl` at a random pitch, pace and
loudness, with random noise, and its recogniser transcribes what was said up to each pause.
`scripts/train_turn_judge.py` learns from the result, `data/training/turns_heard.jsonl`, because
recognisers drop, add and mistake words, above all at the end. Takes half an hour for 3,000 turns.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ["LOGURU_AUTOINIT"] = "false"  # pipecat prints a greeting on import
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.turns.overheard import Plan, overheard
from scripts.common import program


def work(options: program.Options) -> program.Figures:
    return overheard(program.fill(Plan, options))


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="file to write, from its beginning"
    )
    program.add_number(parser, "--limit", None, "use only N turns")
    program.add_number(parser, "--seed", 1, "seed of the voices and the noise", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
