"""Measures which utterances, in pairs or in a series, memory considers repeated or changed.

`with_cosine`: decisions based on the encoder's cosine. `rules`: decisions by the rules alone, as if
every cosine were 1."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from assistant.context.structured_output import ask_for_json
from assistant.idle.jobs.consolidation import (
    SCHEMA,
    TOKENS,
    allowed,
    by_rules,
    prompt,
    proposed,
    question,
)
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.duplicates import NEAREST
from assistant.memory.curation.reconcile import Repeats, Replaces, reconcile
from assistant.memory.records.memory import Memory, MemoryKind
from data import located
from scripts.common.rows import read_rows
from scripts.eval.asking import language_model
from scripts.eval.encoders import Encode

PAIRS = "evaluation/memory_pairs.jsonl"
TALK = ("evaluation/paraphrase_facts.jsonl", "evaluation/paraphrase_distractors.jsonl")
PARTS = ("a", "b")
START = datetime(2026, 1, 1, tzinfo=UTC)
NEAR = 64
LABELS = {Repeats: "duplicate", Replaces: "replaces"}
"""Labels of the decisions; any other decision means `similar`."""
VERDICTS = {"same": "duplicate", "changed": "replaces", "both": "similar"}


def told(text: str, day: int, key: str = "") -> Memory:
    at = START + timedelta(days=day)
    return Memory(
        key or f"{day}", "user", MemoryKind.EXCHANGE, text, at, sources=(key or f"{day}",)
    )


def rows(name: str) -> list[dict[str, Any]]:
    return read_rows(located(name))


def cosines_of(pairs: Sequence[Mapping[str, Any]], encode: Encode) -> list[float]:
    older, newer = (encode([pair[name] for pair in pairs]) for name in ("older", "newer"))
    found: list[float] = np.sum(older * newer, axis=1).tolist()
    return found


def on_pairs(encode: Encode) -> dict[str, Any]:
    """Precision and recall by part and decision, and the wrongly decided pairs."""
    pairs, lexicon = rows(PAIRS), TextAnalyzer("en")
    cosines = cosines_of(pairs, encode)
    decided: dict[str, list[str]] = {"rules": [], "with_cosine": []}
    for pair, cosine in zip(pairs, cosines, strict=True):
        first, second = told(pair["older"], 0), told(pair["newer"], 9)
        for name, near in (("rules", 1.0), ("with_cosine", cosine)):
            decision = reconcile(second, [(first, near)], lexicon)
            decided[name].append(LABELS.get(type(decision), "similar"))
    wrong = [
        f"{pair['label']} taken as {got} ({cosine:.2f}): {pair['older']} | {pair['newer']}"
        for pair, got, cosine in zip(pairs, decided["with_cosine"], cosines, strict=True)
        if got != pair["label"]
    ]
    return {"pairs": len(pairs)} | by_part(pairs, decided) | {"wrong": wrong}


def by_part(
    pairs: Sequence[Mapping[str, Any]], decided: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Precision and recall of the decisions by part and method."""
    found = {}
    for part in PARTS:
        chosen = [at for at, pair in enumerate(pairs) if pair["part"] == part]
        wanted = [pairs[at]["label"] for at in chosen]
        found[part] = {
            name: {
                label: quality([each[at] for at in chosen], wanted, label)
                for label in LABELS.values()
            }
            for name, each in decided.items()
        }
    return found


def quality(got: Sequence[str], wanted: Sequence[str], label: str) -> dict[str, float]:
    right = sum(a == b == label for a, b in zip(got, wanted, strict=True))
    return {
        "precision": round(right / max(1, sum(each == label for each in got)), 3),
        "recall": round(right / max(1, sum(each == label for each in wanted)), 3),
        "pairs": sum(each == label for each in wanted),
    }


async def on_model(encode: Encode, model: str) -> dict[str, Any]:
    """Precision and recall by part, counting pairs decided without the model; and the time."""
    pairs, lexicon = rows(PAIRS), TextAnalyzer("en")
    cosines = cosines_of(pairs, encode)
    asking, form = 0, prompt()
    decided: dict[str, list[str]] = {"consolidated": [], "proposed": []}
    async with language_model(model) as llm:
        begun = time.perf_counter()
        for pair, cosine in zip(pairs, cosines, strict=True):
            first, second = told(pair["older"], 0), told(pair["newer"], 9)
            decision = reconcile(second, [(first, cosine)], lexicon)
            taken = says = LABELS.get(type(decision), "similar")
            if taken == "similar" and cosine >= NEAREST:
                asked = question(pair["older"], pair["newer"])
                verdict = proposed(await ask_for_json(llm, form, asked, SCHEMA, TOKENS))
                rule, may = by_rules(first, second, lexicon), allowed(first, second, lexicon)
                asking += rule == "both" and may is not None
                agreed = verdict if verdict == may else "both"
                taken, says = VERDICTS[rule if rule != "both" else agreed], VERDICTS[verdict]
            decided["consolidated"].append(taken)
            decided["proposed"].append(says)
        seconds = time.perf_counter() - begun
    wrong = [
        f"{pair['label']}, {name} {got}: {pair['older']} | {pair['newer']}"
        for name, each in decided.items()
        for pair, got in zip(pairs, each, strict=True)
        if got not in (pair["label"], "similar")
    ]
    return {
        "left": sum(cosine >= NEAREST for cosine in cosines),
        "asked by the rules": asking,
        "seconds": round(seconds, 1),
        **by_part(pairs, decided),
        "wrong": wrong,
    }


def on_talk(encode: Encode) -> dict[str, Any]:
    """The decisions on each utterance, which is compared with the most similar earlier
    utterances."""
    talk = sorted((row for name in TALK for row in rows(name)), key=lambda row: int(row["day"]))
    memories = [told(row["said"], row["day"], row["id"]) for row in talk]
    vectors = encode([memory.text for memory in memories])
    lexicon = TextAnalyzer("en")
    decisions = []
    for place, memory in enumerate(memories):
        cosines = vectors[:place] @ vectors[place]
        near = np.argsort(-cosines, kind="stable")[:NEAR]
        others = [(memories[at], float(cosines[at])) for at in near.tolist()]
        decision = reconcile(memory, others, lexicon)
        if isinstance(decision, Repeats):
            decisions.append(f"duplicate: {decision.old.text} | {memory.text}")
        elif isinstance(decision, Replaces):
            decisions += [f"replaces: {old.text} | {memory.text}" for old in decision.old]
    return {"utterances": len(memories), "decisions": decisions}
