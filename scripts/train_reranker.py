"""Trains an encoder to judge which memories answer a question.

Learns from the people in `people.jsonl` and the utterances in `asked_of_said.jsonl` and
`asked_of_short.jsonl` (all in `data/training`). Some utterances also have questions that they only
nearly answer (`near_misses.jsonl`). A low-rank adapter (LoRA) of all layers of the published
encoder is trained, with two linear layers on top of it: one judges whether a memory answers a
question, the other whether a newer memory makes an older one outdated. They are written to FOLDER
in peft's format; `models/catalogue.toml` names the adapters in use. The published model must have
been pulled. Uses a graphics processor if there is one.

`--judge PREFIX` leaves out the people whose ids begin with PREFIX, and measures on them. Nothing in
`data/evaluation` is read.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.train.reranker import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    print(json.dumps(figures))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--judge", default="", metavar="PREFIX", help="people held out")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="adapter to go on from")
    program.add_number(parser, "--statements", 2000, "other utterances in each pass")
    program.add_training(
        parser,
        epochs=2,
        batch=12,
        rank=32,
        rate=5e-4,
        limit="use only N people, and N utterances of each other file",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
