"""Measures how reliably spoken commands are distinguished from talk, and their arguments.

It reports, for the project's own utterances (`data/evaluation/spoken_commands.jsonl`), precision
and recall by part and by kind, and how many rightly recognised commands have the right name or span
of time. A command mistaken for another lowers both precision and recall. The grammar was written on
part `a`. Each later part was written after the recogniser had been frozen, was measured, and was
then used to improve it; after the last part, `e`, nothing was changed. `--talk` uses the project's
6,000 utterances of one user instead, and prints those mistaken for commands, for a person to check.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.eval.commands import on_talk, on_utterances

HEADS = ("commands", "precision", "recall", "arguments")


def work(options: program.Options) -> program.Figures:
    if options.talk:
        found = on_talk()
        for line in found["taken"]:
            print(line)
        print(f"{len(found['taken'])} of {found['utterances']:,} mistaken for commands")
        return found
    found = on_utterances()
    for line in found["wrong"]:
        print(line)
    print(" " * 20 + "".join(f"{head:>10}" for head in HEADS))
    parts = {f"part {part}": figures for part, figures in found["parts"].items()}
    for name, figures in {**found["kinds"], **parts, "all": found["overall"]}.items():
        values = ("-" if figures[head] is None else figures[head] for head in HEADS)
        print(f"{name:<20}" + "".join(f"{value:>10}" for value in values))
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--talk", action="store_true", help="use the 6,000 utterances instead of the commands"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
