"""Trains an encoder to read what an utterance gives to the slots of a form.

Learns on the dialogues in `data/training/form_dialogues.jsonl`, and on ordinary talk, which gives
nothing to a form. A low-rank adapter (LoRA) of all layers of the published encoder is trained, with
small layers above it. They are written to FOLDER in peft's format; `models/catalogue.toml` names
the adapters in use. The published model must have been pulled. Uses a graphics processor if there
is one.

`--judge WRITER` leaves out the dialogues of one writer, and measures on them. The dialogues in
`data/evaluation` are not read.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    from scripts.train.slots import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    print(json.dumps(figures))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--encoder", default="all-minilm-l6-v2", metavar="NAME", help="encoder in the catalogue"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    parser.add_argument("--judge", default="", metavar="WRITER", help="writer kept back")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="adapter to go on from")
    add_number(parser, "--epochs", 12, "passes over the data")
    add_number(parser, "--talk", 2000, "utterances of ordinary talk in each pass")
    add_number(parser, "--batch", 32, "utterances per step")
    add_number(parser, "--rank", 32, "rank of the adapter")
    parser.add_argument(
        "--rate", type=float, default=1e-3, metavar="R", help="highest learning rate"
    )
    add_number(parser, "--limit", None, "use only N dialogues, and N rows of each other file")
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
