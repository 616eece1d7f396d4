"""Measures how good answers are: in everyday talk, and to questions about earlier statements.

`answers.jsonl` in `data/evaluation` has everyday conversations: facts, explanations, advice, sums,
small talk, stories, feelings, requests for acts that the assistant can't do, questions whose answer
it can't know, and questions that refer to earlier turns. In `answer_memories.jsonl`, people chat
with the assistant on three days in November 2026, and later ask about what they said: what has
changed, what follows from two statements, when something was, what belongs to whom, and what they
never mentioned.

Turns are handled as in the product: by the skills first, then by the fixed replies to questions
that can't be answered, then by the language model, with the product's prompt, the recalled
memories, and the check of claims. The clock is simulated, and recall has all the time that it
needs. How many notes a prompt contains depends on the model's reading speed, which is measured once
per model, or given.

Answers are judged by the patterns of their rows: all of `accept` must match the answer, as written
or as spoken, and none of `reject` may match it as spoken. The other figures:

    shown           all statements that the answer needs were in the prompt's profile or notes, with
                    at least four fifths of the content words and numbers of each
    right_of_shown  the share of right answers among these
    person          the assistant speaks as if it were the user ("I play the drums")
    repeats         it says a clause twice
    echoes          it says little more than the user's own words
    too_short, too_long   compared with the row's sensible length, at 2.5 words a second
    unspeakable     the model wrote lists, markdown, emoji, links, code, or the prompt's own marks
    invented        the question can't be answered, and the answer has names or numbers that are
                    nowhere in the prompt
    cut             the answer was ended because it claimed an act
    by_skill        a skill answered
    fixed           the assistant said, without the language model, that it doesn't know

Intervals are bootstrap 95 %, over conversations or people.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.selection.profiles import SMALL, STRONG, TINY
from scripts.common import program
from scripts.eval import answers
from scripts.eval.answer_data import EVERYDAY, FILES, MEMORIES, PARTS, read_people, read_talks
from scripts.eval.answer_figures import figures, shown, table
from scripts.eval.asking import THREADS, Answers

MODELS = (TINY.llm, SMALL.llm, STRONG[-1])


def work(options: program.Options) -> program.Figures:
    wanted = [options.only] if options.only else list(FILES)
    asked = answers.Asked(
        read_talks(options.part, options.limit) if EVERYDAY in wanted else (),
        read_people(options.part, options.limit) if MEMORIES in wanted else (),
    )
    if asked.people:
        answers.require_encoders()
    models: list[answers.OpenModel] = [
        partial(answers.local, name, options.threads, adapted=not options.published)
        for name in options.models
    ]
    if options.endpoint:
        models = [partial(answers.served, options.endpoint, options.endpoint_model)]
    with (
        tempfile.TemporaryDirectory() as folder,
        answers.product_parts(Answers(options.answers)) as parts,
    ):
        asking = answers.measured(models, asked, Path(folder), parts, options.reads_per_s)
        found = asyncio.run(asking)
    if options.show:
        for name, of_model in found.items():
            every = (shown(each) for of in wanted for each in of_model.judged[of])
            print(f"\n== {name}", *every, sep="\n")
    told: program.Figures = {
        of: {name: figures(each.judged[of]) for name, each in found.items()} for of in wanted
    }
    for of in wanted:
        print(f"\n{of}, part {options.part}", table(told[of]), sep="\n")
    speeds = {name: each.reads_per_s for name, each in found.items()}
    return told | {"part": options.part, "reads_per_s": speeds}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--part", default=PARTS[0], choices=PARTS, help="part of both sets")
    parser.add_argument("--only", choices=tuple(FILES), help="one of the sets; by default both")
    parser.add_argument(
        "--models", nargs="+", default=MODELS, metavar="NAME", help="language models to ask"
    )
    parser.add_argument(
        "--endpoint", metavar="URL", help="ask a model on an OpenAI-compatible server instead"
    )
    parser.add_argument("--endpoint-model", metavar="NAME", help="the server's name for the model")
    program.add_number(
        parser, "--limit", None, "only N conversations and N questions, of all kinds"
    )
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="file to keep the models' answers in"
    )
    program.add_number(parser, "--threads", THREADS, "threads of the language model")
    program.add_number(
        parser, "--reads-per-s", None, "tokens that the model reads per second; default: measured"
    )
    parser.add_argument(
        "--published", action="store_true", help="leave out the models' adapters for answers"
    )
    parser.add_argument("--show", action="store_true", help="print all answers")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
