"""What the answers know of what was told in an earlier session: whole conversations, typed.

Runs the `assistant` command itself. One process is told N facts in passing, spread over small talk,
and ends. Each fact is then asked for, in other words, in three ways:

    on     by a new process on what the first one kept, as after a restart
    off    the same with `memory.enabled` off: what is guessed
    told   without a memory, the fact right before the question in one turn: the most that this
           model makes of a fact that it is shown

Only long-term memory can know in `on`: `context.resume_within_h = 0` begins a new conversation.
Each question has a process and a copy of the home of its own: in a shared one the questions before
it, and their answers, would be in the history and in the memory.

An answer is right when it holds one of the accepted strings as whole words, numbers in words or
digits. `shown` is the share of questions with the fact among the notes in the prompt: what is lost
before that was lost by recall or by its deadline, the rest by the model. Intervals are bootstrap
95 % over the facts.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.settings import Settings
from models.selection.requested import select_models
from scripts.common import program
from scripts.common.rows import Keep
from scripts.eval.memory_qa import WAYS, figures, measured, read_facts, table


def work(options: argparse.Namespace) -> dict[str, Any]:
    shop = select_models(Settings.model_validate({"general": {"profile": options.profile}}))
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(
            Path(folder),
            read_facts(options.n, options.seed),
            profile=options.profile,
            ways=options.way,
            deadline_ms=options.deadline_ms,
            seed=options.seed,
            keep=Keep(options.keep),
        )
    found = figures(rows)
    print(table(found))
    names = {"profile": options.profile, "llm": shop.profile.llm}
    return found | names | {"deadline_ms": options.deadline_ms}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser, "small")
    parser.add_argument("--n", type=program.at_least(1), help="so many facts; default: all")
    parser.add_argument("--way", nargs="+", choices=WAYS, default=WAYS, help="default: all three")
    parser.add_argument(
        "--deadline-ms",
        type=float,
        default=Settings().memory.deadline_ms,
        metavar="MS",
        help="of a recall (default: %(default)s); more for a machine that is busy otherwise",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice and the order")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each answer here")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
