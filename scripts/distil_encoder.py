"""Trains some of a sentence encoder's layers to encode questions as all its layers do.

The teacher is the prepared encoder with its adapter. The student has only the teacher's layers N,
counted from 0. A low-rank adapter (LoRA) of these layers is trained to reproduce the teacher's
vector of a text and its ranking of utterances (after Sanh et al. 2019). It learns from utterances
as well as questions (`asked_of_said.jsonl` and `asked_of_short.jsonl` in `data/training`), since a
turn may be either. Memories are still encoded by all layers, so their vectors don't change. The
adapter is written to FOLDER in peft's format; `models/catalogue.toml` names the adapters in use.
Some questions are held out. Before and after training, the program measures the mean cosine of
their vectors to the teacher's, and how often they find their utterance among all utterances. The
evaluation sets are not read.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number
from scripts.train.training_data import FILES, read_pairs


def work(options: program.Options) -> program.Figures:
    from scripts.train.distillation import Plan, distilled  # imports torch: not for `--help`

    told = [each for name in FILES for each in read_pairs(name, options.limit)]
    figures = distilled(told, program.fill(Plan, options))
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--layers",
        type=int,
        nargs="+",
        required=True,
        metavar="N",
        help="layers to keep, counted from 0",
    )
    parser.add_argument(
        "--encoder",
        default="all-minilm-l6-v2",
        metavar="NAME",
        help="encoder in the catalogue",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    add_number(parser, "--rank", 64, "rank of the adapter")
    add_number(parser, "--epochs", 3, "passes over the data")
    parser.add_argument(
        "--rate", type=float, default=1e-3, metavar="R", help="highest learning rate"
    )
    add_number(parser, "--hold-out", 28, "hold out every Nth question")
    add_number(parser, "--limit", None, "use only N utterances of each file")
    add_number(parser, "--seed", 0, "seed of the order", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
