"""What the answers know of what was told in an earlier session: whole conversations, typed.

Runs the `assistant` command itself. One process is told N facts in passing, amid small talk, and
ends. Each fact is then asked for, in other words, in three ways:

    on     by a new process on what the first one kept, as after a restart
    off    the same with `memory.enabled` off: what is guessed
    told   without a memory, the fact right before the question in one turn: the most that this
           model makes of a fact it is shown

Only long-term memory can know it in `on`: `context.resume_within_h = 0` begins a new conversation.
Each question has its own process and its own copy of the home: in a shared one, the questions
before it and their answers would be in the history and in the memory.

An answer is right when it holds one of the accepted strings as whole words, numbers in words or
digits. `shown` is the share of questions with the fact among the notes in the prompt: what is lost
before that was lost by recall or its deadline, the rest by the model. Intervals are bootstrap 95 %
over the facts.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.settings import Settings
from models.selection.requested import select_models
from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import Keep
from scripts.eval.memory_qa import WAYS, figures, measured, read_facts, table


def work(options: program.Options) -> program.Figures:
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
    add_number(parser, "--n", None, "ask for only N facts")
    parser.add_argument(
        "--way", nargs="+", choices=WAYS, default=WAYS, help="ways to ask; by default all three"
    )
    parser.add_argument(
        "--deadline-ms",
        type=float,
        default=Settings().memory.deadline_ms,
        metavar="MS",
        help="deadline of a recall; more for a machine that is busy otherwise",
    )
    add_number(parser, "--seed", 1, "of the choice and the order", least=0)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each answer to this file")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
