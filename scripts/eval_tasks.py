"""Measures what is noted down about a task in a dialogue, and what of it is wrong or missing.

FILE has one dialogue per line, as a JSON object: {"task": "plan the trip to Lisbon", "turns":
[{"user": "…", "assistant": "…"}], "settled": [["third of May"], ["train|by train"]], "not":
["hostel"]}.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.eval.tasks import dialogues, measured


def work(options: program.Options) -> program.Figures:
    tally = asyncio.run(measured(dialogues(options.file)[: options.limit]))
    figures = tally.figures()
    for line in tally.report if options.show else ():
        print(line)
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="the dialogues")
    program.add_number(parser, "--limit", None, "use only the first N dialogues")
    parser.add_argument("--show", action="store_true", help="print all lines, and what is wrong")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
