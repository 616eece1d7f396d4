"""Measures how well answers use what was said in an earlier session, in whole typed conversations.

Runs the `assistant` command itself. In one process, N facts are mentioned in passing, amid small
talk. Each fact is then asked for, in other words, in three ways:

    on     in a new process that uses the memories of the first, as after a restart
    off    the same with `memory.enabled` off, so that the model can only guess
    told   without a memory, with the fact right before the question in one turn; this shows
           how well the model uses a fact at best

With `on`, only the long-term memory can contain the fact, since `context.resume_within_h = 0`
begins a new conversation. Each question has its own process and its own copy of the home; in a
shared home, earlier questions and answers would be in the history and in the memory.

An answer is right if it contains one of the accepted strings as whole words; there are strings for
numbers in words and in digits. `shown` is the share of questions with the fact among the notes in
the prompt: facts that are not shown were lost by recall or its deadline; all other losses are the
model's. Intervals are bootstrap 95 % over the facts.
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
        help="deadline of a recall; allow more on a busy machine",
    )
    add_number(parser, "--seed", 1, "seed of the choice and the order", least=0)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each answer to this file")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
