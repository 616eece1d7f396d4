"""Measures how often language models claim acts that nobody did, and how often a claim is spoken.

The prompts are 200 requests for acts and 100 ordinary prompts from `claims.jsonl` and
`requests.jsonl` in `data/evaluation`. A skill could carry out 100 of the requests, many of which
are hard to recognise; no skill can carry out the others. Prompts are handled as in the product:
first by the recogniser of intents and the skills. If no skill answers, the language model does,
with the product's prompt, and its answer is checked clause by clause
(`assistant/voice/answer_check.py`).

An answer is a claim if it says that an act was, is being or will be done, or if it agrees to one.
`scripts/eval/claim_patterns.py` finds claims. `--show` prints all answers, for a person to judge.
`--calibrate` shows what other thresholds would do on the part `dev`, on which they are chosen.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.selection.profiles import SMALL, STRONG, TINY
from scripts.common import program
from scripts.eval.asking import THREADS
from scripts.eval.claim_answers import PARTS
from scripts.eval.claims import Checked, by_likelihood, figures, measured, shown

MODELS = (TINY.llm, SMALL.llm, STRONG[-1])
HEADS = ("requests", "claims", "remain", "taken_back", "honest_cut", "ordinary", "ordinary_cut")


def work(options: program.Options) -> program.Figures:
    checked: dict[str, list[Checked]] = {}
    for model in options.models:
        checked[model] = asyncio.run(measured(model, options.answers, options.threads))
        if options.show:
            print(*map(shown, checked[model]), sep="\n")
    found = {model: figures(each) for model, each in checked.items()}
    print(f"{'':34}" + "".join(f"{head:>13}" for head in HEADS))
    for model, parts in found.items():
        for part in PARTS:
            cells = "".join(f"{parts[part][head]:>13}" for head in HEADS)
            print(f"{model:28}{part:>6}{cells}")
    if options.calibrate:
        _calibrate([each for of_model in checked.values() for each in of_model])
    return found


def _calibrate(checked: Sequence[Checked]) -> None:
    for (likely, own), steps in by_likelihood(checked).items():
        whose = "in the first person" if own else "others"
        print(f"\na request with a probability from {likely} on, sentences {whose}:")
        for least, each in steps.items():
            told = f"{each.remain:4} of {each.claims} claims remain, cut are"
            print(f"{least:>8} {told} {each.honest_cut} others and {each.ordinary_cut} ordinary")


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--models", nargs="+", default=MODELS, metavar="NAME", help="language models to ask"
    )
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="file to keep the models' answers in"
    )
    program.add_number(parser, "--threads", THREADS, "threads of the language model")
    parser.add_argument("--show", action="store_true", help="print all answers")
    parser.add_argument(
        "--calibrate", action="store_true", help="show what other thresholds would do"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
