"""How well recall finds what a question names by its time, or by what somebody is to the user.

    python scripts/eval_clues.py [--encoder NAME [--stand-in NAME]] [--vectors FOLDER] [--json]

Two sets of our own, among 5,820 other utterances: `time_questions.jsonl`, of which ten have words
that only look like a time (`none`), and `linked_questions.jsonl`, where a name that the question
doesn't have stands between it and the answer. Ours with the product's weights, and without those
of the clues (`ours_without_…`), beside BM25, dense search and RRF. `ours_less` has the differences
with bootstrap 95 % intervals. With `--json` the last line is one JSON object.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from data import located
from models.selection.profiles import SMALL
from scripts.common.last_line import last_line
from scripts.eval.clue_data import read_linked, read_times
from scripts.eval.recall_data import own_files
from scripts.eval_recall import figures, measured, opened, report, variants

SETS = {
    "times": (read_times, "evaluation/time_questions.jsonl"),
    "roles": (read_linked, "evaluation/linked_questions.jsonl"),
}
WITHOUT = "times+dated+linked"


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--encoder", help="default: both of the profile `default`")
    parser.add_argument("--stand-in", help="the quicker one, where the other is late")
    parser.add_argument("--query", choices=("full", "int8"), default="int8", help="its weights")
    parser.add_argument("--vectors", type=Path, help="folder to keep vectors in")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not options.encoder:
        options.encoder, options.stand_in = SMALL.encoder, SMALL.stand_in
    return options


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    found: dict[str, Any] = {"encoder": options.encoder, "stand_in": options.stand_in}
    try:
        encoders = opened(options)
        distractors = own_files("paraphrase")[1]
        for name, (read, path) in SETS.items():
            pools = read(located(path), distractors)
            values, kinds = measured(pools, encoders, variants(encoders, without=WITHOUT))
            found[name] = figures(values, kinds)
            sys.stdout.write(f"\n{name}\n{report(found[name], values, kinds)}\n")
    except (AssistantError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.json:
        sys.stdout.write(last_line(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
