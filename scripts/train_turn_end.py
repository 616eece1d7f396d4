"""Chooses how words, sound and silence are combined to estimate whether a turn is over.

Listens to the recordings in DIR, with a manifest as described in scripts/bench/voice/labels.py, and
to the turns of the part `dev` of `data/evaluation/turns.jsonl`, spoken by the profile's voice, as
`scripts/bench_turns.py` does. Of all weights with which few turns are split at a pause and few
unfinished phrases are cut off, it chooses those with which turns end soonest. `--write` writes them
to `data/turn_end.json`.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.turns.fitting import Plan, trained
from scripts.common import program
from scripts.common.spoken_turns import PARTS


def work(options: program.Options) -> program.Figures:
    figures = trained(program.fill(Plan, options))
    print(json.dumps(figures))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument(
        "--clips", type=Path, required=True, metavar="DIR", help="folder of recordings"
    )
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.set_defaults(part=PARTS[0])
    program.add_number(parser, "--limit", None, "use only N recordings, and N turns")
    program.add_number(parser, "--seed", 1, "seed of the pauses' lengths", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
