"""Measures how well facts are extracted from what a user says: precision, recall, unsupported
facts.

Runs the functions of idle work on the labelled utterances in `data/evaluation/extraction.jsonl`:
rules find statements, the model judges them, and a check ensures that the user's words support
them. Prompt and rules were tuned on part `a`; part `b` is for measuring. With `--cache`, answers
are read from a file and added to it, so that the rest can be tuned without the model.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import located
from scripts.common import program
from scripts.common.program import add_number
from scripts.eval.asking import language_model
from scripts.eval.extraction import DATA, Judge, extracted, figures, wrong
from scripts.eval.extraction_score import read_rows, score, table

MODEL = "qwen2.5-coder-0.5b-instruct"


async def measured(options: program.Options) -> program.Figures:
    every = read_rows(located(DATA))
    rows = [row for row in every if options.part in (None, row.part)][: options.limit]
    judge = None
    if options.rules:
        predicted, dropped = await extracted(rows, None)
    else:
        async with language_model(options.model) as llm:
            judge = Judge(llm, options.cache)
            predicted, dropped = await extracted(rows, judge)
    result = score(rows, predicted)
    for line in (wrong(rows, predicted) if options.wrong else []) + table(result):
        print(line)
    if judge is not None:
        print(f"{judge.asked} questions, {judge.seconds:.1f} s, {judge.failed} useless answers")
    return figures(rows, result, judge, dropped)


def work(options: program.Options) -> program.Figures:
    return asyncio.run(measured(options))


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    judge = parser.add_mutually_exclusive_group()
    judge.add_argument("--model", default=MODEL, metavar="NAME", help="language model that judges")
    judge.add_argument(
        "--rules",
        action="store_true",
        help="accept everything that the rules find, without a model",
    )
    parser.add_argument("--part", choices=("a", "b"), help="part of the set; by default both")
    add_number(parser, "--limit", None, "use only the first N utterances")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="file that caches the model's answers"
    )
    parser.add_argument("--wrong", action="store_true", help="print what is wrong or missed")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
