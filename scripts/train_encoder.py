"""Adapts a sentence encoder to questions about what was said in passing.

Trains on `asked_of_said.jsonl` and `asked_of_short.jsonl` in `data/training`: utterances, questions
about them that are asked weeks later in other words, and similar utterances that don't answer the
questions. A low-rank adapter (LoRA) of the encoder's upper layers is trained so that a question is
nearer to its utterance than to the others in its batch. The adapter is written to FOLDER in peft's
format; `models/catalogue.toml` names the adapters in use. The published model must have been
pulled. The evaluation sets are not read.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number
from scripts.train.training_data import FILES, read_pairs


def work(options: program.Options) -> program.Figures:
    from scripts.train.adaptation import Plan, adapted  # imports torch: not for `--help`

    told = [each for name in options.on for each in read_pairs(name, options.limit)]
    figures = adapted(told, program.fill(Plan, options))
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--encoder",
        default="all-mpnet-base-v2",
        metavar="NAME",
        help="encoder in the catalogue",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    parser.add_argument(
        "--begun",
        type=Path,
        metavar="FOLDER",
        help="folder of an adapter with the same layers and rank, to continue training",
    )
    parser.add_argument(
        "--on",
        nargs="+",
        choices=FILES,
        default=FILES,
        help="files of data/training; by default all",
    )
    add_number(
        parser,
        "--hold-out",
        0,
        "hold out every Nth utterance, and measure how often its questions find it among all",
        least=0,
    )
    parser.add_argument(
        "--epochs", type=float, default=2.0, metavar="N", help="passes over the data"
    )
    add_number(parser, "--layers", 4, "layers to adapt, from the top")
    add_number(parser, "--rank", 16, "rank of the adapter")
    parser.add_argument(
        "--rate", type=float, default=3e-4, metavar="R", help="highest learning rate"
    )
    add_number(parser, "--limit", None, "use only N utterances of each file")
    add_number(parser, "--seed", 0, "seed of the order", least=0)
    program.add_half(parser)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
