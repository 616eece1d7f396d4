"""Have a model describe the turns of a benchmark, as the idle work does, and keep its answers.

FILE is in LoCoMo's format. `scripts/eval_recall.py --made CACHE` then measures what the answers
bring. It resumes where it ended, and may be killed at any time. The noted seconds are the model's
processor time, so that other programs don't count. `--near N` takes only N turns of each
conversation: those that answer questions, or `--questions M` of them, and the turns around.
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
        raise InputUnusable(f"There are {len(every)} conversations in {options.file}, from 0 on.")
    return [every[at] for at in options.pools or range(len(every))]


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="conversations in LoCoMo's format"
    )
    parser.add_argument(
        "--paraphrase", action="store_true", help="the project's own facts instead of FILE"
    )
    parser.add_argument(
        "--cache", type=Path, required=True, metavar="FILE", help="file of the answers"
    )
    parser.add_argument("--model", default=MODEL, metavar="NAME", help="language model")
    add_number(
        parser,
        "--pools",
        None,
        "conversations to take, from 0 on, in this order",
        least=0,
        nargs="+",
    )
    add_number(parser, "--near", 0, "take only N turns of each", least=0)
    add_number(parser, "--questions", None, "with --near, of M questions")
    options = parser.parse_args(arguments)
    if (options.file is None) is not options.paraphrase:
        parser.error("give either a FILE or --paraphrase")
    return program.run(work, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
