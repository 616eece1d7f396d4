"""Reads turns whose writers marked where the speaker pauses without being done."""

from dataclasses import dataclass

from data import located
from scripts.common.rows import InputUnusable, read_rows

TRAINING = "training/turns.jsonl"
EVALUATION = "evaluation/turns.jsonl"
PARTS = ("dev", "test")
"""The parts of the evaluation set. Weights are chosen on the first part only."""
PAUSE = "|"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn in parts, between which its speaker pauses. `question` is the assistant's question
    that it answers, or empty."""

    by: str
    parts: tuple[str, ...]
    question: str

    @property
    def said(self) -> str:
        return " ".join(self.parts)

    def until(self, pause: int) -> str:
        """The words before a pause, the first of which has the number 1."""
        return " ".join(self.parts[:pause])


def read_turns(name: str, limit: int | None = None, part: str | None = None) -> list[SpokenTurn]:
    """The turns in a file below `data`, or those of one part, at most `limit`.

    Raises:
        InputUnusable: the file can't be read, or a turn has no words.
    """
    found = []
    for number, row in enumerate(read_rows(located(name), "by", "said"), 1):
        if part is not None and row.get("part") != part:
            continue
        parts = tuple(said for each in row["said"].split(PAUSE) if (said := each.strip()))
        if not parts:
            raise InputUnusable(f"Line {number} of {located(name)} has no words.")
        found.append(SpokenTurn(row["by"], parts, row.get("question") or ""))
    return found[:limit]
