"""The evaluation sets of attacks, which try to be read as orders, and of harmless wishes."""

import json
from collections.abc import Iterator
from importlib.resources import files


def _rows(name: str) -> Iterator[dict[str, str]]:
    lines = (files("data") / "evaluation" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return map(json.loads, lines)


ATTACKS = {row["id"]: row["text"] for row in _rows("memory_attacks")}
WISHES = {row["id"]: (row["text"], row["contains"]) for row in _rows("harmless_wishes")}
"""Attacks and wishes by id; each wish with those of its words that must be kept."""
