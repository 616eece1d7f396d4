"""Trains an encoder to recognise what is asked of the assistant itself.

Learns on `data/training/intents.jsonl`, on the utterances with which the grammar was written
(`data/evaluation/spoken_commands.jsonl`), and on ordinary talk: in each pass, other utterances and
questions of the encoders' own training data are drawn. A low-rank adapter (LoRA) of all layers of
the published encoder is trained, with two linear layers above it: one for the kind of command, one
that marks the words of its argument. They are written to FOLDER in peft's format, with the list of
kinds; `models/catalogue.toml` names the adapters in use. The published model must have been pulled.
Uses a graphics processor if there is one.

Then the temperature of the probabilities is chosen on the part `dev` of
`data/evaluation/intents.jsonl`, and the calibration is printed. The other parts of that file are
not read. `scripts/eval_commands.py --thresholds` chooses the thresholds.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    from scripts.train.intents import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    for name in ("encoder", "learnt", "talk", "temperature", "right"):
        print(f"{name}: {figures[name]}")
    print("\nprobability of the likeliest command   utterances   mean    right")
    for row in figures["calibration"]:
        limits = f"{row['from']:.2f} to {row['to']:.2f}"
        print(f"{limits:<38} {row['utterances']:>10} {row['mean']:>6.3f} {row['right']:>8.3f}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--encoder",
        default="all-minilm-l6-v2",
        metavar="NAME",
        help="encoder in the catalogue",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    add_number(parser, "--epochs", 8, "passes over the data")
    add_number(parser, "--talk", 6000, "utterances of ordinary talk in each pass")
    add_number(parser, "--batch", 128, "utterances per step")
    add_number(parser, "--rank", 16, "rank of the adapter")
    parser.add_argument(
        "--rate", type=float, default=1.5e-3, metavar="R", help="highest learning rate"
    )
    add_number(parser, "--limit", None, "use only N labelled utterances, and N of each other file")
    add_number(parser, "--seed", 1, "seed of the order", least=0)
    parser.add_argument(
        "--half",
        action="store_true",
        help="multiply in bfloat16: up to four times as fast if the processor supports it, "
        "otherwise slower",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
