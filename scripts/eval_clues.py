"""Measures recall for questions that mention a time, or a person by their relation to the user.

It uses two sets of our own, hidden among 5,820 other utterances. In `time_questions.jsonl`, ten
questions have words that only look like a time (`none`). In `linked_questions.jsonl`, a name that
is not in the question links it to its answer. Our recall is measured with the product's weights and
without the weights for such clues (`ours_without_…`), and compared with BM25, dense search and RRF.
`ours_less` contains the differences, with bootstrap intervals of 95 %.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import located
from scripts.common import program
from scripts.eval import encoders
from scripts.eval.clue_data import read_linked, read_times
from scripts.eval.recall import figures, measured, report, variants
from scripts.eval.recall_data import own_files

SETS = {
    "times": (read_times, "evaluation/time_questions.jsonl"),
    "roles": (read_linked, "evaluation/linked_questions.jsonl"),
}
WITHOUT = "times+dated+linked"


def work(options: program.Options) -> program.Figures:
    found: program.Figures = {"encoder": options.encoder, "stand_in": options.stand_in}
    both = encoders.opened(options)
    distractors = own_files("paraphrase")[1]
    for name, (read, path) in SETS.items():
        pools = read(located(path), distractors)
        values, kinds = measured(pools, both, variants(both, without=WITHOUT))
        found[name] = figures(values, kinds)
        print(f"\n{name}\n{report(found[name], values, kinds)}")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    encoders.add_both(parser)
    return program.run(work, encoders.parsed(parser, arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
