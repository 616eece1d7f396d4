"""Measures how well forms are filled in from what people say.

Runs the dialogues of one part of `data/evaluation/form_dialogues.jsonl` through the product's own
forms, and compares the values in the form at the end with the right ones. Also counts filled slots
that should be empty (e.g. filled from words about other people), slots that lost their values, and
changes that are not in the history. The rules were tuned on part `dev`; nobody may look at what the
parts `test` and `final` contain.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.forms.definition import FormLibrary
from assistant.forms.filling import FormReader
from assistant.settings import Settings
from data import located
from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import InputUnusable
from scripts.common.slot_reader import loaded_slot_reader
from scripts.eval.asking import language_model
from scripts.eval.form_dialogues import DATA, PARTS, Dialogue, read_dialogues
from scripts.eval.forms import OWN_FORMS, Filler, figures, mistakes


async def measured(options: program.Options) -> program.Figures:
    library = FormLibrary(OWN_FORMS)
    file = options.dialogues or located(DATA)
    dialogues = read_dialogues(file, library, options.part)[: options.limit]
    reader = FormReader(loaded_slot_reader(Settings()))
    if options.model is None:
        return await _filled(Filler(library, reader, None), dialogues, options)
    async with language_model(options.model) as llm:
        return await _filled(Filler(library, reader, llm), dialogues, options)


async def _filled(
    filler: Filler, dialogues: Sequence[Dialogue], options: program.Options
) -> program.Figures:
    fillings = []
    for dialogue in dialogues:
        fillings.append(await filler.filled(dialogue))
        if options.show:
            print(f"{dialogue.form.title}, {dialogue.today}", *fillings[-1].told, sep="\n")
    if options.show or options.mistakes:
        print(*mistakes(fillings), sep="\n")
    return {"part": options.part, **figures(fillings)}


def work(options: program.Options) -> program.Figures:
    if options.part != "dev" and (options.show or options.mistakes):
        raise InputUnusable("Mistakes are shown for part dev only.")
    found = asyncio.run(measured(options))
    for name, each in found.items():
        print(f"{name}: {each}")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--model", metavar="NAME", help="language model whose tokens are counted")
    parser.add_argument("--part", choices=PARTS, default="dev", help="dialogues to measure")
    add_number(parser, "--limit", None, "use only the first N dialogues")
    parser.add_argument(
        "--dialogues", type=Path, metavar="FILE", help="other dialogues in the same format"
    )
    parser.add_argument(
        "--mistakes", action="store_true", help="print what is wrong (part dev only)"
    )
    parser.add_argument(
        "--show", action="store_true", help="print all that was put in (part dev only)"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
