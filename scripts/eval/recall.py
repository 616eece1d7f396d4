"""Measures our recall and variants of it, compared with BM25, dense search and RRF."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from assistant.memory.retrieval.ranking import Ranking
from scripts.common.rows import InputUnusable
from scripts.eval.encoders import Encoders
from scripts.eval.recall_data import Pool
from scripts.eval.recall_methods import (
    IN_BRIEF,
    METHODS,
    WORDS_ALONE,
    Baselines,
    Ours,
    taken_out,
)
from scripts.eval.recall_metrics import METRICS, Values, intervals, means, of_question, table

STAND_IN = "ours_stand_in"
BRIEF = "ours_brief"
WORDS = "ours_words"
WORDS_BRIEF = "ours_words_brief"
FACTS = "facts"


def measured(
    pools: Sequence[Pool], encoders: Encoders, variants: Mapping[str, Callable[[Pool], Ours]]
) -> tuple[dict[str, Values], list[str]]:
    """Each question's metrics by method, and the questions' categories."""
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
    encoders: Encoders, *, without: str = "", facts: bool = False
) -> dict[str, Callable[[Pool], Ours]]:
    """Our recall and its variants by name: as it works near the deadline, with the faster encoder
    alone, with facts found by rules in addition to the turns, and without some weights (`ablated`).

    Raises:
        InputUnusable: a weight to be removed doesn't exist.
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
    if facts:
        found[FACTS] = lambda pool: Ours(pool, encoders, weights, beside=taken_out(pool))
    for name, other in ablated(without).items():
        found[name] = partial(Ours, encoders=encoders, weights=other)
    return found


def ablated(wanted: str) -> dict[str, Ranking]:
    """Rankings without some weights. For "times+dated,linked", one is without `times` and `dated`,
    the other without `linked`.

    Raises:
        InputUnusable: a named weight doesn't exist.
    """
    groups = [group.split("+") for group in wanted.split(",") if group]
    for name in (each for group in groups for each in group):
        if name not in {field.name for field in fields(Ranking)}:
            raise InputUnusable(f"There is no weight {name!r} in Ranking.")
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
    """The figures as text for a person."""
    low, high = found["intervals"]["ours"][METRICS[0]]
    lines = [table(values), f"ours {METRICS[0]}: 95 % between {low:.3f} and {high:.3f}"]
    for kind in sorted(set(kinds)):
        chosen = np.array(kinds) == kind
        lines.append(f"\ncategory {kind}, {int(chosen.sum())} questions")
        lines.append(table({name: each[chosen] for name, each in values.items()}))
    return "\n".join(lines)
