"""How well the long-term memory finds what was said, beside BM25, dense search and RRF.

FILE is in LoCoMo's format; what is found are single turns, and the candidates of a question are all
turns of its conversation. Adversarial questions (category 5) and such without evidence are left
out. `--paraphrase` takes the project's own facts among distractors instead, with recall for
questions that share a content word with the fact and such that don't. `--short` is the same of
statements of a few words, among others as short. `--held-out` is like the first, by another author
and of other lives; nothing was chosen on it, nor is it to be.

Ours runs on the product's own modules with the product's own weights, and as it does where the
deadline is near: with the stand-in's vector of the question (`ours_stand_in`), with that in brief,
by words and meaning alone (`ours_brief`), without any vector (`ours_words`), and without one in
brief (`ours_words_brief`). Without `--encoder` the encoders are those of the profile `default`; one
that is named has no stand-in unless that is named too. The methods beside it have `--encoder`.
Intervals are bootstrap 95 % over questions. `ours_less` says what ours gains over each.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.retrieval.ranking import Ranking
from scripts.common import program
from scripts.common.rows import InputUnusable
from scripts.eval import derived_ablation, encoders
from scripts.eval.derived_cache import Cache, Cost
from scripts.eval.encoders import Encoders, both_of
from scripts.eval.recall import figures, measured, report, variants
from scripts.eval.recall_data import OWN, Pool, own_files, read_locomo, read_paraphrases


def work(options: argparse.Namespace) -> dict[str, Any]:
    if options.own:
        pools = [read_paraphrases(*own_files(options.own))]
    else:
        pools = read_locomo(options.file)
    full = options.query == "full"
    opened = both_of(options.encoder, options.vectors, full=full)
    if options.stand_in:
        opened = opened._replace(stand_in=both_of(options.stand_in, options.vectors, full=full))
    if options.made:
        return switched(options, pools, opened)
    ours = variants(
        opened, without=options.without, summaries=options.summaries, facts=options.facts
    )
    values, categories = measured(pools, opened, ours)
    if not categories:
        raise InputUnusable("There is no question with evidence in it.")
    found = figures(values, categories)
    print(report(found, values, categories))
    return found | {
        "encoder": options.encoder,
        "stand_in": options.stand_in,
        "query": options.query,
    }


def switched(
    options: argparse.Namespace, pools: Sequence[Pool], opened: Encoders
) -> dict[str, Any]:
    """What a model made, switched on and off."""
    cache, cost = Cache(options.made), Cost()
    models = cache.models()
    model = options.model or (models[0] if len(models) == 1 else "")
    every = derived_ablation.enriched(pools, cache, model, opened, cost)
    if not any(each.pool.questions for each in every):
        known = ", ".join(models) or "none"
        raise program.NotMeasured(
            f"Nothing was made of these turns by {model or 'a model'}. Models in it: {known}."
        )
    values, categories = derived_ablation.compared(every, opened, Ranking())
    print(f"{model}\n{derived_ablation.report(values, cost)}")
    return derived_ablation.figures(values, categories, cost) | {"model": model}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="conversations in LoCoMo's format")
    sets = parser.add_mutually_exclusive_group()
    for name in OWN:
        sets.add_argument(
            f"--{name}", dest="own", action="store_const", const=name, help="the project's own set"
        )
    encoders.add_options(parser)
    parser.add_argument(
        "--query",
        choices=("full", "int8"),
        default="int8",
        help="precision of the weights for questions (default: %(default)s)",
    )
    parser.add_argument(
        "--without",
        default="",
        metavar="WEIGHTS",
        help="of Ranking, 0 in a run beside: with a,b+c in one run a, in another b and c",
    )
    parser.add_argument("--summaries", action="store_true", help="beside summaries by rules too")
    parser.add_argument("--facts", action="store_true", help="beside facts by rules too")
    parser.add_argument(
        "--vectors", type=Path, metavar="FOLDER", help="keep documents' vectors for the next run"
    )
    parser.add_argument(
        "--made",
        type=Path,
        metavar="CACHE",
        help="what descriptions and questions bring, which scripts/make_derived.py had made",
    )
    parser.add_argument("--model", help="which model's, of those in CACHE")
    options = encoders.parsed(parser, arguments)
    if (options.file is None) is (options.own is None):
        parser.error(f"give either a FILE or --{', --'.join(OWN)}")
    return program.run(work, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
