"""Reads the training data of encoders: utterances, and questions about them."""

from dataclasses import dataclass

from data import located
from scripts.common.rows import read_rows

FILES = ("asked_of_said", "asked_of_short")
"""Files in `data/training`; the second has short statements."""


@dataclass(frozen=True, slots=True)
class Told:
    """One utterance, the questions it answers, and similar utterances that don't answer them."""

    said: str
    asked: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return self.said, *self.asked, *self.beside


def read_pairs(name: str, limit: int | None = None) -> list[Told]:
    """The utterances of one of `FILES`, at most `limit` of them, evenly spaced from the start."""
    rows = read_rows(located(f"training/{name}.jsonl"))
    step = max(1, len(rows) // limit) if limit else 1
    return [
        Told(row["said"], tuple(row["asked"]), tuple(row["beside"])) for row in rows[::step][:limit]
    ]
