"""Measures whether summaries of conversations help with broad questions or harm narrow ones.

Uses the project's own fourteen conversations of one person
(`data/evaluation/broad_questions.jsonl`). It measures how much of a good answer the notes in the
prompt contain: without summaries, with summaries by rules and, with `--model`, with summaries that
a language model shortened. Summaries, search, notes and their limits are the product's own.
Questions are about a topic, about a time, or narrow; narrow ones must not get worse. With
`--cache`, the model's answers are read from a file and added to it.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.records.memory import Memory
from assistant.settings import Settings
from data import located
from scripts.common import program
from scripts.common.program import add_number
from scripts.eval.asking import language_model
from scripts.eval.encoders import QUICK, both_of
from scripts.eval.summaries import Notes, Shortener, by_rules, figures, summed_up
from scripts.eval.summary_score import Asked, read_rows

DATA = "evaluation/broad_questions.jsonl"


async def measured(options: program.Options) -> program.Figures:
    talks, questions = read_rows(located(DATA))
    notes = Notes(talks, both_of(QUICK))
    made: dict[str, list[tuple[Memory, datetime]]] = {"without": []}
    made["rules"] = await summed_up(talks, options.turns, by_rules)
    found: program.Figures = {"questions": len(questions), "turns": options.turns}
    if options.model:
        async with language_model(options.model) as llm:
            how = Shortener(llm, options.cache)
            made[options.model] = await summed_up(talks, options.turns, how.summary)
        found["model"] = {
            "seconds": round(how.seconds, 1),
            "summaries": len(made[options.model]),
            "sentences": how.sentences,
            "unsupported": how.unsupported,
            "failed": how.failed,
        }
    for name, summaries in made.items():
        known = [memory for memory, _ in summaries]
        for memory in known if options.show else ():
            print(f"{name} {memory.id}: {memory.text}")

        def noted(asked: Asked, room: int, known: Sequence[Memory] = known) -> str:
            return notes(asked, known, room)

        found[name] = figures(questions, noted, show=options.show)
    return found


def work(options: program.Options) -> program.Figures:
    found = asyncio.run(measured(options))
    for name, each in found.items():
        print(f"{name}: {each}")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    turns = Settings().idle.summarise_turns
    parser.add_argument("--model", metavar="NAME", help="language model that shortens summaries")
    add_number(parser, "--turns", turns, "turns in a summary")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="file that caches the model's answers"
    )
    parser.add_argument(
        "--show", action="store_true", help="print summaries, and each question's notes"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
