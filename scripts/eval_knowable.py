"""Measures how well the assistant recognises questions that it can't answer.

`data/evaluation/knowable.jsonl` has questions that only somebody with the internet could answer
(live), questions that only somebody who was there could answer (unseen), and other utterances
(known). On one part of it, the program measures the share of live and unseen questions that are
recognised as unanswerable, and the share of known utterances that are taken for unanswerable
questions. It also counts such mistakes in the ordinary talk of the same part of `intents.jsonl` and
`requests.jsonl`; a few of them really are unanswerable questions. The last lines say how many
utterances get a fixed reply, without the language model. They also say which shares of the
questions in `answer_memories.jsonl` and of the known utterances are taken for questions whose
answer only the user can have told. The thresholds in use are `UNKNOWABLE` and `TOLD`
(assistant/intents/intent_recogniser.py). They are chosen on part `dev`, and only mistakes of that
part may be looked at (`--show`).
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.knowable import PARTS
from scripts.eval.knowable import measured

COLUMNS = ("recall", "live", "unseen", "known", "passed", "talk_taken")


def work(options: program.Options) -> program.Figures:
    found = measured(options.part)
    if options.show and options.part == PARTS[0]:
        print(*found["wrong"], "", sep="\n")
    print(f"{'threshold':>9}" + "".join(f"{each:>12}" for each in COLUMNS))
    for least, figures in found["steps"].items():
        print(f"{least:>9}" + "".join(f"{figures[each]:>12}" for each in COLUMNS))
    print(f"in use: {found['threshold']}; talk: {found['talk']} utterances")
    shares = ", ".join(f"{each} of {label}" for label, each in found["fixed"].items())
    print(f"fixed reply: {shares}, {found['talk_fixed']} of talk")
    shares = ", ".join(f"{each} of {name}" for name, each in found["told"].items())
    print(f"taken for a question about the user's life: {shares}")
    return {name: each for name, each in found.items() if name != "wrong"}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--part", default=PARTS[0], choices=PARTS, help="part of the sets")
    parser.add_argument("--show", action="store_true", help="print the mistakes in part `dev`")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
