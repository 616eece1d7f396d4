"""Measures how well the memory recognises repeated statements, and changed ones.

Uses the project's own pairs of utterances (`data/evaluation/memory_pairs.jsonl`), said on two days.
It reports precision and recall of both decisions, by the rules alone and with the encoder's cosine.
Part `a` existed when the rules were written, part `b` was written afterwards. The rules were then
corrected once, so `b` flatters them a little too. `--talk` uses the project's 6,000 utterances of
one user instead, in which nothing is said twice, and prints what would be merged or replaced, for a
person to check. `--model` adds the decisions of the idle work `consolidate` on the remaining pairs:
`consolidated` has the decisions by its rules and, where the rules ask for it, by the model;
`proposed` has the model's unchecked decisions on all of these pairs.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.eval.encoders import add_encoder, of_documents
from scripts.eval.upkeep import PARTS, on_model, on_pairs, on_talk


def work(options: program.Options) -> program.Figures:
    encoder = of_documents(options.encoder)
    found = on_talk(encoder.encode) if options.talk else on_pairs(encoder.encode)
    for line in found["decisions" if options.talk else "wrong"]:
        print(line)
    if options.talk:
        print(f"{len(found['decisions'])} decisions on {found['utterances']:,} utterances")
    for part in PARTS:
        for name, figures in found.get(part, {}).items():
            print(f"part {part}, {name}: {figures}")
    if options.model:
        found["model"] = asyncio.run(on_model(encoder.encode, options.model))
        for line in found["model"].pop("wrong"):
            print(line)
        print(f"{options.model}: {found['model']}")
    return found | {"encoder": encoder.name}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    pairs = parser.add_mutually_exclusive_group()
    pairs.add_argument(
        "--talk", action="store_true", help="use the 6,000 utterances instead of the pairs"
    )
    pairs.add_argument("--model", metavar="NAME", help="language model that consolidates")
    add_encoder(parser)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
