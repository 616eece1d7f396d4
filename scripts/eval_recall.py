"""How well the long-term memory finds what was said, beside BM25, dense search and RRF.

    python scripts/eval_recall.py FILE [--encoder NAME [--stand-in NAME]] [--query full] [--json]
    python scripts/eval_recall.py --paraphrase [--encoder NAME [--stand-in NAME]] [--json]
    python scripts/eval_recall.py --short [--encoder NAME [--stand-in NAME]] [--json]
    python scripts/eval_recall.py --held-out [--encoder NAME [--stand-in NAME]] [--json]

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
Intervals are bootstrap 95 % over questions. `--vectors FOLDER` keeps documents' vectors there for
the next run. `--without times+dated,linked` takes weights away, and `ours_less` says what that
costs; `--summaries` puts those of every twelve turns beside them (`summaries`), which are to change
nothing here, and `--facts` those that rules take from them (`facts`). `--made CACHE` tells instead
what the descriptions and questions in it bring, which a model wrote (`scripts/make_derived.py`),
and what they cost: over the turns for which it was asked alone. With `--json` the last line is one
JSON object.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.compose.engines import QUERY_TOKENS
from assistant.errors import AssistantError
from assistant.memory.retrieval.ranking import Ranking
from assistant.paths import models_cache
from models.encoder.onnx import OnnxEncoder
from models.selection.profiles import SMALL
from scripts.common.last_line import last_line
from scripts.eval import derived_ablation as ablation
from scripts.eval.derived_ablation import compared, enriched
from scripts.eval.derived_cache import Cache, Cost
from scripts.eval.recall_data import OWN, Pool, own_files, read_locomo, read_paraphrases
from scripts.eval.recall_methods import (
    IN_BRIEF,
    METHODS,
    TURNS,
    WORDS_ALONE,
    Baselines,
    Encoders,
    Ours,
    summed_up,
    taken_out,
)
from scripts.eval.recall_metrics import METRICS, Values, intervals, means, of_question, table

ENCODER = "all-minilm-l6-v2"
"""By which limits on cosines were chosen."""
STAND_IN = "ours_stand_in"
BRIEF = "ours_brief"
WORDS = "ours_words"
WORDS_BRIEF = "ours_words_brief"
SUMMARIES = "summaries"
FACTS = "facts"


class KeptVectors:
    """Documents' vectors, kept in a file between runs where there is a folder for it."""

    def __init__(self, encoder: OnnxEncoder, folder: Path | None) -> None:
        self._encoder = encoder
        self._file = folder / f"{encoder.name}.npz" if folder else None
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._file and self._file.is_file():
            kept = np.load(self._file)
            self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
            if self._file:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                np.savez(
                    self._file,
                    texts=np.array(list(self._known)),
                    vectors=np.array(list(self._known.values())),
                )
        return np.array([self._known[text] for text in texts])


def measured(
    pools: Sequence[Pool], encoders: Encoders, variants: Mapping[str, Callable[[Pool], Ours]]
) -> tuple[dict[str, Values], list[str]]:
    """The metrics of each question by each method, and the questions' categories."""
    names = (*variants, *METHODS[1:])
    rows: dict[str, list[list[float]]] = {name: [] for name in names}
    categories = []
    for pool in pools:
        ours = {name: variant(pool) for name, variant in variants.items()}
        baselines = Baselines(pool, encoders)
        for question in pool.questions:
            found = {name: each(question.text) for name, each in ours.items()}
            for name, order in (found | baselines(question.text)).items():
                rows[name].append(of_question(order, question.gold))
            categories.append(question.category)
    return {name: np.array(values) for name, values in rows.items()}, categories


def variants(
    encoders: Encoders, *, without: str = "", summaries: bool = False, facts: bool = False
) -> dict[str, Callable[[Pool], Ours]]:
    """Ours by its name, as it is and otherwise: without some weights (`ablated`), and with
    summaries or facts by rules beside the turns.

    Raises:
        ValueError: of a weight that is to be taken away there is none.
    """
    weights, stand_in = Ranking(), encoders.stand_in
    found: dict[str, Callable[[Pool], Ours]] = {
        "ours": lambda pool: Ours(pool, encoders, weights),
        WORDS: lambda pool: Ours(pool, encoders, weights, meaning=False),
    }
    quick = stand_in or encoders
    found[BRIEF] = lambda pool: Ours(pool, quick, weights, expected=IN_BRIEF)
    found[WORDS_BRIEF] = lambda pool: Ours(pool, quick, weights, expected=WORDS_ALONE)
    if stand_in is not None:
        found[STAND_IN] = lambda pool: Ours(pool, stand_in, weights)
    if summaries:
        found[SUMMARIES] = lambda pool: Ours(pool, encoders, weights, beside=summed_up(pool, TURNS))
    if facts:
        found[FACTS] = lambda pool: Ours(pool, encoders, weights, beside=taken_out(pool))
    for name, other in ablated(without).items():
        found[name] = partial(Ours, encoders=encoders, weights=other)
    return found


def ablated(wanted: str) -> dict[str, Ranking]:
    """ "times+dated,linked": ours without both of the first, and ours without the last.

    Raises:
        ValueError: there is no such weight.
    """
    groups = [group.split("+") for group in wanted.split(",") if group]
    for name in (each for group in groups for each in group):
        if name not in {field.name for field in fields(Ranking)}:
            raise ValueError(f"there is no weight {name!r} in Ranking")
    found = {}
    for group in groups:
        nothing: dict[str, Any] = dict.fromkeys(group, 0.0)
        found[f"ours_without_{'+'.join(group)}"] = replace(Ranking(), **nothing)
    return found


def figures(values: Mapping[str, Values], categories: Sequence[str]) -> dict[str, Any]:
    kinds = np.array(categories)
    by_category = {
        kind: {"questions": int((kinds == kind).sum())}
        | {name: means(each[kinds == kind]) for name, each in values.items()}
        for kind in sorted(set(categories))
    }
    return {
        **{name: means(each) for name, each in values.items()},
        "by_category": by_category,
        "intervals": {name: intervals(each) for name, each in values.items()},
        "ours_less": {
            name: intervals(values["ours"] - each)
            for name, each in values.items()
            if name != "ours"
        },
        "questions": len(categories),
    }


def report(found: Mapping[str, Any], values: Mapping[str, Values], kinds: Sequence[str]) -> str:
    """For a person."""
    low, high = found["intervals"]["ours"][METRICS[0]]
    lines = [table(values), f"ours {METRICS[0]}: 95 % between {low:.3f} and {high:.3f}"]
    for kind in sorted(set(kinds)):
        chosen = np.array(kinds) == kind
        lines.append(f"\ncategory {kind}, {int(chosen.sum())} questions")
        lines.append(table({name: each[chosen] for name, each in values.items()}))
    return "\n".join(lines)


def switched(options: argparse.Namespace, pools: Sequence[Pool], encoders: Encoders) -> int:
    """What a model made, switched on and off. Raises ValueError: it made nothing of these turns."""
    cache, cost = Cache(options.made), Cost()
    models = cache.models()
    model = options.model or (models[0] if len(models) == 1 else "")
    every = enriched(pools, cache, model, encoders, cost)
    if not any(each.pool.questions for each in every):
        known = ", ".join(models) or "none"
        raise ValueError(f"nothing was made of these turns by {model or 'which --model'}: {known}")
    values, categories = compared(every, encoders, Ranking())
    sys.stdout.write(f"{model}\n{ablation.report(values, cost)}\n")
    if options.json:
        found = ablation.figures(values, categories, cost)
        sys.stdout.write(last_line(found | {"model": model}) + "\n")
    return 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?", help="conversations in LoCoMo's format")
    sets = parser.add_mutually_exclusive_group()
    for name in OWN:
        sets.add_argument(
            f"--{name}", dest="own", action="store_const", const=name, help="the project's own set"
        )
    parser.add_argument(
        "--encoder",
        help="name in the catalogue, or a folder; default: both of the profile `default`",
    )
    parser.add_argument("--stand-in", help="the quicker one, where the other is late")
    parser.add_argument("--query", choices=("full", "int8"), default="int8", help="its weights")
    parser.add_argument(
        "--without", default="", help="weights of Ranking that are 0 in a run beside: a,b+c"
    )
    parser.add_argument("--summaries", action="store_true", help="with summaries by rules too")
    parser.add_argument("--facts", action="store_true", help="with facts by rules too")
    parser.add_argument("--vectors", type=Path, help="folder to keep vectors in")
    parser.add_argument("--made", type=Path, metavar="CACHE", help="of scripts/make_derived.py")
    parser.add_argument("--model", help="which model's, of those in the cache")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if (options.file is None) is (options.own is None):
        parser.error(f"give either a FILE or --{', --'.join(OWN)}")
    if options.stand_in and not options.encoder:
        parser.error("--stand-in goes with --encoder")
    if not options.encoder:
        options.encoder, options.stand_in = SMALL.encoder, SMALL.stand_in
    return options


def opened(options: argparse.Namespace) -> Encoders:
    """`encoder`, and `stand_in` where it is named, with questions encoded as `query` says.

    Raises:
        ModelError: one has to be pulled, or is damaged.
    """

    def one(name: str) -> Encoders:
        folder = Path(name)
        folder = folder if folder.is_dir() else models_cache() / name
        full = OnnxEncoder(folder)
        queries = full if options.query == "full" else as_asked(folder)
        full.load()
        queries.load()
        return Encoders(KeptVectors(full, options.vectors), queries.encode)

    encoders = one(options.encoder)
    return encoders._replace(stand_in=one(options.stand_in)) if options.stand_in else encoders


def as_asked(folder: Path) -> OnnxEncoder:
    """As the product encodes questions."""
    return OnnxEncoder(folder, quantised=True, max_tokens=QUERY_TOKENS, keep_end=True)


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    try:
        if options.own:
            pools = [read_paraphrases(*own_files(options.own))]
        else:
            pools = read_locomo(options.file)
        encoders = opened(options)
        if options.made:
            return switched(options, pools, encoders)
        ours = variants(
            encoders, without=options.without, summaries=options.summaries, facts=options.facts
        )
        values, categories = measured(pools, encoders, ours)
    except (AssistantError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not categories:
        sys.stderr.write("there is no question with evidence in it\n")
        return 1
    found = figures(values, categories)
    names = {"encoder": options.encoder, "stand_in": options.stand_in}
    found |= names | {"query": options.query}
    sys.stdout.write(report(found, values, categories) + "\n")
    if options.json:
        sys.stdout.write(last_line(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
