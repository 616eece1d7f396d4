"""Measures what is taken down of a task while it is talked about: found, wrong and superfluous.

Each dialogue of FILE is one JSON object per line: {"task": "plan the trip to Lisbon", "turns":
[{"user": "…", "assistant": "…"}], "settled": [["third of May"], ["train|by train"]], "not":
["hostel"]}. By default, the shipped model of the profile `small` judges what the rules are not sure
of.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.tasks import TaskJudge
from scripts.common import program
from scripts.eval.asking import language_model
from scripts.eval.tasks import dialogues
from scripts.eval.tasks import measured as measure

MODEL = "qwen2.5-coder-0.5b-instruct"


async def measured(options: program.Options) -> program.Figures:
    every = dialogues(options.file)[: options.limit]
    if options.rules:
        tally = await measure(every, None)
    else:
        async with language_model(options.model) as llm:
            tally = await measure(every, TaskJudge(llm))
    figures = tally.figures()
    for line in tally.report if options.show else ():
        print(line)
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    return figures


def work(options: program.Options) -> program.Figures:
    return asyncio.run(measured(options))


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    judge = parser.add_mutually_exclusive_group()
    judge.add_argument("--model", default=MODEL, metavar="NAME", help="language model that judges")
    judge.add_argument("--rules", action="store_true", help="use only rules, without a model")
    parser.add_argument("file", type=Path, metavar="FILE", help="the dialogues")
    program.add_number(parser, "--limit", None, "use only the first N dialogues")
    parser.add_argument("--show", action="store_true", help="print all lines, and what is wrong")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
