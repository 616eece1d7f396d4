"""Adapt a sentence encoder to questions about what was said in passing.

Learns on the files of `data/training`: utterances, what is asked weeks later in other words, and
other utterances that are tempting. A low-rank adapter (LoRA) of the encoder's upper layers is
trained so that a question is nearer to its utterance than to the others of its batch, then written
to FOLDER in peft's form; `models/catalogue.toml` names the adapters that are in use. The published
model must have been pulled. The evaluation sets are not read.
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
    from scripts.train.adaptation import Plan, adapted  # brings torch: `--help` needn't wait for it

    told = [each for name in options.on for each in read_pairs(name, options.limit)]
    plan = Plan(
        layers=options.layers,
        rank=options.rank,
        rate=options.rate,
        epochs=options.epochs,
        hold_out=options.hold_out,
        seed=options.seed,
        begun=options.begun,
        half=options.half,
    )
    figures = adapted(options.encoder, told, plan, options.out)
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    count = program.at_least(1)
    parser.add_argument(
        "--encoder",
        default="all-mpnet-base-v2",
        metavar="NAME",
        help="in the catalogue (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the adapter")
    parser.add_argument(
        "--begun",
        type=Path,
        metavar="FOLDER",
        help="of an adapter of the same layers and rank, to go on from",
    )
    parser.add_argument("--on", nargs="+", choices=FILES, default=FILES, help="default: all")
    parser.add_argument(
        "--hold-out",
        type=program.at_least(0),
        default=0,
        metavar="N",
        help="leave out every Nth utterance, and tell how often its questions find it among all",
    )
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--layers", type=count, default=4, help="adapted, from the top")
    parser.add_argument("--rank", type=count, default=16, help="of the adapter")
    parser.add_argument("--rate", type=float, default=3e-4, help="of learning, at its highest")
    parser.add_argument("--limit", type=count, metavar="N", help="so many utterances of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--half",
        action="store_true",
        help="multiply in bfloat16: up to four times as fast where the processor has it, else "
        "slower",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
