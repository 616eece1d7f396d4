"""Trains an encoder to judge a speaker's words: whether they are complete, and whether they ask the
assistant to stop speaking.

Learns from the turns in `data/training/turns.jsonl`, whose writers marked where the speaker pauses
without being done, from what a recogniser heard of them (`turns_heard.jsonl`, by
`scripts/hear_turns.py`), from the other utterances in `data/training`, cut after a random word, and
from `interruptions.jsonl`. A low-rank adapter (LoRA) of all layers of the published encoder is
trained, with two linear layers on top of it. They are written to FOLDER in peft's format;
`models/catalogue.toml` names the adapters in use. The published model must have been pulled. Uses a
graphics processor if there is one.

`--judge WRITER` leaves out the turns of one writer, and measures on them. Nothing in
`data/evaluation` is read.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.train.turn_judge import Plan, trained  # imports torch: not for `--help`

    figures = trained(program.fill(Plan, options))
    print(json.dumps(figures))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--judge", default="", metavar="WRITER", help="writer held out")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="adapter to go on from")
    program.add_number(parser, "--turns", 20000, "other turns in each pass")
    program.add_training(
        parser,
        epochs=2,
        batch=64,
        rank=16,
        rate=1e-3,
        limit="use only N turns of each file",
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
