"""Measures how much recall improves with each kind of text derived by idle work, and what it costs.
The same questions are asked with and without these texts, among the turns that a model was asked
about."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.idle.jobs import expansion_prompt
from assistant.idle.jobs.expansion_prompt import Made, grounded
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.document_expansion import (
    DESCRIBE_MEANING,
    EXPAND_MEANING,
    Expansion,
    ExpansionWeights,
    fingerprint,
)
from assistant.memory.retrieval.ranking import Ranking
from scripts.eval.derived_cache import Cache, Cost, calls, narrowed
from scripts.eval.encoders import Encoders
from scripts.eval.recall_data import Pool
from scripts.eval.recall_methods import UNKNOWN, Ours
from scripts.eval.recall_metrics import METRICS, Values, intervals, means, of_question

NONE = ExpansionWeights()
MEANING = {"describe_meaning": DESCRIBE_MEANING, "expand_meaning": EXPAND_MEANING}
VARIANTS: Mapping[str, ExpansionWeights] = {
    "ours": NONE,
    **{name.replace("_", " "): replace(NONE, **{name: w}) for name, w in MEANING.items()},
    "all": ExpansionWeights(**MEANING),
}


class Enriched(NamedTuple):
    """A pool with the texts derived from all its turns."""

    pool: Pool
    extras: Mapping[str, Expansion]


def enriched(
    pools: Sequence[Pool], cache: Cache, model: str, encoders: Encoders, cost: Cost
) -> list[Enriched]:
    """The pools, narrowed to the turns that the model was asked about. If only some turns had
    derived texts, recall would prefer those turns."""
    found = []
    for pool in pools:
        every = cache.of(model, pool, cost)
        rows = [row for row, each in enumerate(every) if each is not None]
        made = [each for each in every if each is not None]
        if any(each.about or each.questions for each in made):
            found.append(_enriched(pool, rows, made, encoders))
    return found


def _enriched(
    pool: Pool, rows: Sequence[int], made: Sequence[Made], encoders: Encoders
) -> Enriched:
    lexicon = TextAnalyzer("en")
    asked = list(calls(pool))
    extras = {}
    for row, each in zip(rows, made, strict=True):
        call, turn = asked[row], pool.turns[row]
        if call is None:
            continue
        kept = grounded(each, call.said, (turn.when or UNKNOWN).date(), lexicon)
        texts, of = expansion_prompt.texts(kept), fingerprint(turn.text)
        if not texts:
            continue
        vectors = encoders.quick.documents(texts)
        extras[turn.id] = Expansion(of, kept.about, kept.questions, vectors, (turn.id,))
    return Enriched(narrowed(pool, rows), extras)


def compared(
    every: Sequence[Enriched], encoders: Encoders, weights: Ranking
) -> tuple[dict[str, Values], list[str]]:
    """Each question's metrics by variant, and the questions' categories."""
    values: dict[str, NDArray[np.float64]] = {}
    for name, enrichment in VARIANTS.items():
        rows = []
        for pool, extras in every:
            ours = Ours(pool, encoders, weights, enrichment=enrichment, extras=extras)
            rows += [of_question(ours(each.text), each.gold) for each in pool.questions]
        values[name] = np.array(rows)
    return values, [question.category for pool, _ in every for question in pool.questions]


def figures(values: Mapping[str, Values], categories: Sequence[str], cost: Cost) -> dict[str, Any]:
    kinds, before = np.array(categories), values["ours"]
    return {
        **{name: means(each) for name, each in values.items()},
        "more": {name: intervals(each - before) for name, each in values.items() if name != "ours"},
        "by_category": {
            kind: {name: means(each[kinds == kind]) for name, each in values.items()}
            for kind in sorted(set(categories))
        },
        "questions": len(categories),
        "cost": asdict(cost) | {"seconds_per_100_turns": per_100(cost)},
    }


def per_100(cost: Cost) -> float:
    """Processor seconds of the model per 100 turns, including turns that need no call."""
    return round(100 * cost.seconds / max(1, cost.turns), 1)


def report(values: Mapping[str, Values], cost: Cost) -> str:
    """The means, and the gains over `ours` with their intervals, as text for a person."""
    before, shown = values["ours"], METRICS[:2]
    lines = [f"{'':18}" + "".join(f"{name:>9}" for name in METRICS)]
    for name, each in values.items():
        row, gains = means(each), intervals(each - before)
        line = f"{name:18}" + "".join(f"{row[metric]:9.3f}" for metric in METRICS)
        for at, metric in enumerate(shown if name != "ours" else ()):
            low, high = gains[metric]
            gain = float((each - before)[:, at].mean())
            line += f"   {metric} {gain:+.3f} ({low:+.3f} to {high:+.3f})"
        lines.append(line)
    lines.append(
        f"{len(before)} questions; {cost.turns} turns, {cost.calls} calls, {per_100(cost)} s of the"
        f" model's processor time per 100 turns, {cost.failed} useless answers"
    )
    return "\n".join(lines)
