"""Trains an encoder to recognise what is asked of the assistant itself.

Learns from `data/training/intents.jsonl`, from the utterances that the grammar was written with
(`data/evaluation/spoken_commands.jsonl`), and from ordinary talk: for each pass, utterances and
questions are drawn anew from the encoders' own training data. A low-rank adapter (LoRA) of all
layers of the published encoder is trained, with two linear layers above it: one for the kind of
command, one that marks the words of its arguments. They are written to FOLDER in peft's format,
with the list of kinds; `models/catalogue.toml` names the adapters in use. The published model must
have been pulled. Uses a graphics processor if there is one.

Then the temperature of the probabilities is chosen on the parts `dev` of `intents.jsonl` and
`requests.jsonl` in `data/evaluation`, and the calibration is printed. The other parts of these
files are not used. `scripts/eval_commands.py --thresholds` chooses the thresholds.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.train.intents import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    for name in ("encoder", "learnt", "talk", "temperature", "right"):
        print(f"{name}: {figures[name]}")
    program.print_calibration("probability of the likeliest command", figures["calibration"])
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_talk(parser, 6000)
    parser.add_argument(
        "--begun", type=Path, metavar="FOLDER", help="go on from the adapter in this folder"
    )
    program.add_training(
        parser,
        epochs=8,
        batch=128,
        rank=16,
        rate=1.5e-3,
        limit="use only N labelled utterances, and N of each other file",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
