"""Makes a model describe the turns of a benchmark, as idle work does, and stores its answers.

FILE is in LoCoMo's format. `scripts/eval_recall.py --made CACHE` then measures the gain from the
answers. The program may be killed at any time, and resumes where it stopped. It records the model's
processor time, so that the load of other programs doesn't count. `--near N` uses only N turns of
each conversation: those that answer questions, and their neighbours. `--questions M` counts only M
of the questions.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import InputUnusable
from scripts.eval.derived import chosen, made
from scripts.eval.derived_cache import Cache
from scripts.eval.recall_data import Pool, own_files, read_locomo, read_paraphrases

MODEL = "qwen2.5-coder-0.5b-instruct"


def work(options: program.Options) -> program.Figures:
    wanted = chosen(pools_of(options), options.near, options.questions)
    asked = asyncio.run(made(Cache(options.cache), options.model, wanted))
    print(f"{asked} turns were asked about, {len(wanted) - asked} were in the cache")
    return {"asked": asked, "model": options.model}


def pools_of(options: program.Options) -> list[Pool]:
    if options.paraphrase:
        return [read_paraphrases(*own_files("paraphrase"))]
    every = read_locomo(options.file)
    if options.pools and max(options.pools) >= len(every):
        raise InputUnusable(
            f"There are {len(every)} conversations in {options.file}, counted from 0."
        )
    return [every[at] for at in options.pools or range(len(every))]


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="conversations in LoCoMo's format"
    )
    parser.add_argument(
        "--paraphrase", action="store_true", help="use the project's own facts instead of FILE"
    )
    parser.add_argument(
        "--cache", type=Path, required=True, metavar="FILE", help="file that stores the answers"
    )
    parser.add_argument("--model", default=MODEL, metavar="NAME", help="language model")
    add_number(
        parser,
        "--pools",
        None,
        "conversations to use, counted from 0, in this order",
        least=0,
        nargs="+",
    )
    add_number(parser, "--near", 0, "use only N turns of each conversation", least=0)
    add_number(parser, "--questions", None, "with --near, consider only M questions")
    options = parser.parse_args(arguments)
    if (options.file is None) is not options.paraphrase:
        parser.error("give either a FILE or --paraphrase")
    return program.run(work, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
