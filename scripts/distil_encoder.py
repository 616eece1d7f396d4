"""Let some of a sentence encoder's layers encode questions as all of them do.

The teacher is the encoder as it is prepared, with its adapter. The student has the layers N of it,
counted from 0, and a low-rank adapter (LoRA) of these is trained so that a text's vector is the
teacher's, and ranks what was said as the teacher's does (after Sanh et al. 2019). It learns on all
texts of `data/training`, since a turn may ask or tell. Memories go on being encoded by all layers,
so no vector of theirs changes. The adapter is written to FOLDER in peft's form;
`models/catalogue.toml` names those that are in use. Some questions are held out and reported on,
before and after: the mean cosine to the teacher's vector, and how often a question finds its
utterance among all. The evaluation sets are not read.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.train.training_data import FILES, read_pairs


def work(options: argparse.Namespace) -> dict[str, Any]:
    from scripts.train.distillation import Plan, distilled  # brings torch: not for `--help`

    told = [each for name in FILES for each in read_pairs(name, options.limit)]
    plan = Plan(
        layers=options.layers,
        rank=options.rank,
        rate=options.rate,
        epochs=options.epochs,
        hold_out=options.hold_out,
        seed=options.seed,
    )
    figures = distilled(options.encoder, told, plan, options.out)
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    count = program.at_least(1)
    parser.add_argument(
        "--layers", type=int, nargs="+", required=True, metavar="N", help="to keep, from 0 on"
    )
    parser.add_argument(
        "--encoder",
        default="all-minilm-l6-v2",
        metavar="NAME",
        help="in the catalogue (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the adapter")
    parser.add_argument("--rank", type=count, default=64, help="of the adapter")
    parser.add_argument("--epochs", type=count, default=3)
    parser.add_argument("--rate", type=float, default=1e-3, help="of learning, at its highest")
    parser.add_argument(
        "--hold-out", type=count, default=28, metavar="N", help="every Nth question is held out"
    )
    parser.add_argument("--limit", type=count, metavar="N", help="so many utterances of each file")
    parser.add_argument("--seed", type=int, default=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
