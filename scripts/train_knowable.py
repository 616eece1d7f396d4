"""Trains two layers that judge whether the assistant can know what it is asked.

The first layer learns from `data/training/knowable.jsonl` to recognise questions that only somebody
with the internet could answer ("Is it going to rain tomorrow?"), and questions that only somebody
who was there could answer ("Did I lock the back door?"). It also learns from ordinary talk in
`data/training/intents.jsonl`, which needs no answer. The second layer learns from
`data/training/people.jsonl` to recognise questions whose answer only the user can have told
("What's my sister's surname?"). The encoder that recognises intents, and its adapter, are not
changed: two linear layers are added to them, which takes a few minutes. `scripts/train_intents.py`
writes an adapter without these layers, so run this program after it. With `--write`, the layers are
written into the adapter's file, whose new digest then has to be entered in `models/catalogue.toml`.
The published model must have been pulled.

The temperature of the first layer's probabilities is chosen on the part `dev` of
`data/evaluation/knowable.jsonl`, and the calibration is printed. `scripts/eval_knowable.py`
measures the prepared model.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.train.knowable import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    for name in ("encoder", "learnt", "temperature", "right"):
        print(f"{name}: {figures[name]}")
    program.print_calibration("probability that it can't be known", figures["calibration"])
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--encoder", default="all-minilm-l6-v2", metavar="NAME", help="encoder in the catalogue"
    )
    parser.add_argument(
        "--adapter", type=Path, metavar="FOLDER", help="its adapter, if not the one in use"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the layers into the adapter's file"
    )
    parser.add_argument(
        "--strength",
        type=float,
        default=10.0,
        metavar="C",
        help="weight of the utterances, relative to the penalty for large weights",
    )
    program.add_number(parser, "--talk", 2500, "utterances of ordinary talk, at most")
    program.add_number(parser, "--questions", 2500, "questions about people's lives, at most")
    program.add_number(parser, "--limit", None, "use only N utterances of each kind")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
