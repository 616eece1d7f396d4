"""What an encoder is adapted with: utterances, and what is asked of them."""

from dataclasses import dataclass

from data import located
from scripts.common.rows import read_rows

FILES = ("asked_of_said", "asked_of_short")
"""In `data/training`; the second has statements of a few words."""


@dataclass(frozen=True, slots=True)
class Told:
    """One utterance, what it answers, and what it is not to be taken for."""

    said: str
    asked: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return self.said, *self.asked, *self.beside


def read_pairs(name: str, limit: int | None = None) -> list[Told]:
    """Of one of `FILES`; at most `limit`, each as far from the next, from the beginning on."""
    rows = read_rows(located(f"training/{name}.jsonl"))
    step = max(1, len(rows) // limit) if limit else 1
    return [
        Told(row["said"], tuple(row["asked"]), tuple(row["beside"])) for row in rows[::step][:limit]
    ]
