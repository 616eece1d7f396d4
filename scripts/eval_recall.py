"""Measures how well the memory finds what was said, compared with BM25, dense search and RRF.

FILE is in LoCoMo's format. Each search is for single turns, among all turns of the question's
conversation. Adversarial questions (category 5) and those without evidence are left out. The
project's own sets contain facts among distractors instead; results are separate for questions that
share a content word with the fact and for those that don't.

Our recall uses the product's own modules and weights. It is also measured as it works near the
deadline: with the stand-in's vector of the question (`ours_stand_in`) or none (`ours_words`), and
with either but ranked by words and meaning only (`ours_brief`, `ours_words_brief`). The other
methods use `--encoder`. `ours_less` contains the gain of ours over each method. Intervals are
bootstrap 95 % over questions.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.retrieval.ranking import Ranking
from scripts.common import program
from scripts.common.rows import InputUnusable, read_text
from scripts.eval import derived_ablation, encoders
from scripts.eval.derived_cache import Cache, Cost
from scripts.eval.encoders import Encoders
from scripts.eval.recall import figures, measured, report, variants
from scripts.eval.recall_data import Pool, own_files, read_locomo, read_paraphrases

SETS = {
    "paraphrase": "our own facts, said in passing and asked for in other words",
    "short": "the same with statements of a few words, among others equally short",
    "statements": "facts among 5,000 other statements about people, by four authors",
    "statements-dev": "the same with other facts by three other authors, for choosing weights",
    "asked-again": "facts that were asked for twice before, with the assistant's replies",
    "held-out": "like --paraphrase, about other lives by another author; nothing was tuned on it",
}


def work(options: program.Options) -> program.Figures:
    if options.own:
        pools = [read_paraphrases(*own_files(options.own))]
    else:
        pools = read_locomo(options.file)
    both = encoders.opened(options, full=options.query == "full")
    if options.made:
        return switched(options, pools, both)
    ours = variants(both, without=options.without, facts=options.facts)
    values, categories = measured(pools, both, ours)
    if not categories:
        raise InputUnusable("No question has evidence.")
    found = figures(values, categories)
    print(report(found, values, categories))
    names = {"encoder": options.encoder, "stand_in": options.stand_in}
    return found | names | {"query": options.query}


def switched(options: program.Options, pools: Sequence[Pool], both: Encoders) -> program.Figures:
    """Recall with and without the texts that a model derived."""
    read_text(options.made)  # fails if the file is missing, which `Cache` would treat as empty
    cache, cost = Cache(options.made), Cost()
    models = cache.models()
    model = options.model or (models[0] if len(models) == 1 else "")
    every = derived_ablation.enriched(pools, cache, model, both, cost)
    if not any(each.pool.questions for each in every):
        known = ", ".join(models) or "none"
        raise program.NotMeasured(
            f"{options.made} has nothing by {model or 'a model'} for these turns. Models: {known}."
        )
    values, categories = derived_ablation.compared(every, both, Ranking())
    print(f"{model}\n{derived_ablation.report(values, cost)}")
    return derived_ablation.figures(values, categories, cost) | {"model": model}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="conversations in LoCoMo's format"
    )
    sets = parser.add_mutually_exclusive_group()
    for name, told in SETS.items():
        sets.add_argument(f"--{name}", dest="own", action="store_const", const=name, help=told)
    encoders.add_both(parser)
    parser.add_argument(
        "--query",
        choices=("full", "int8"),
        default="int8",
        help="precision of the encoder's weights for questions",
    )
    parser.add_argument(
        "--without",
        default="",
        metavar="WEIGHTS",
        help="also leave out these ranking weights; a,b+c: once without a, once without b and c",
    )
    parser.add_argument(
        "--facts",
        action="store_true",
        help="also with facts found by rules, in addition to the turns",
    )
    parser.add_argument(
        "--made",
        type=Path,
        metavar="CACHE",
        help="instead, measure the gain from the texts that scripts/make_derived.py stored in "
        "CACHE",
    )
    parser.add_argument("--model", metavar="NAME", help="model whose answers in CACHE are used")
    options = encoders.parsed(parser, arguments)
    if (options.file is None) is (options.own is None):
        parser.error(f"give either a FILE or --{', --'.join(SETS)}")
    return program.run(work, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
