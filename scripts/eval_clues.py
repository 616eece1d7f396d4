"""How well recall finds what a question names by its time, or by who somebody is to the user.

Two sets of our own, among 5,820 other utterances: `time_questions.jsonl`, ten of which have words
that only look like a time (`none`), and `linked_questions.jsonl`, where a name that is not in the
question stands between it and the answer. Ours is measured with the product's weights and without
those for such clues (`ours_without_…`), beside BM25, dense search and RRF. `ours_less` has the
differences, with bootstrap intervals of 95 %.
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
