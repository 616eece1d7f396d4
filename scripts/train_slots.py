"""Trains an encoder to find what an utterance says for the slots of a form.

Learns from the dialogues in `data/training/form_dialogues.jsonl`, and from ordinary talk and
commands to the assistant, which fill in nothing. A low-rank adapter (LoRA) of all layers of the
published encoder is trained, with small layers above it. They are written to FOLDER in peft's
format; `models/catalogue.toml` names the adapters in use. The published model must have been
pulled. Uses a graphics processor if there is one.

`--judge WRITER` leaves out the dialogues of one writer, and measures on them. The dialogues in
`data/evaluation` are not read.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.train.slots import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    print(json.dumps(figures))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--judge", default="", metavar="WRITER", help="writer held out")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="adapter to go on from")
    program.add_talk(parser, 2000)
    program.add_training(
        parser,
        epochs=12,
        batch=32,
        rank=32,
        rate=1e-3,
        limit="use only N dialogues, and N rows of each other file",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
