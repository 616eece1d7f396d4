"""Reads turns, whose writers marked where the speaker pauses without being done, and interruptions:
what people say while the assistant speaks."""

from dataclasses import dataclass

from data import located
from scripts.common.rows import InputUnusable, read_rows

TRAINING = "training/turns.jsonl"
EVALUATION = "evaluation/turns.jsonl"
HEARD = "training/turns_heard.jsonl"
"""What a recogniser hears of the turns for training at each pause, from `scripts/hear_turns.py`."""
INTERRUPTIONS, JUDGED_INTERRUPTIONS = (
    "training/interruptions.jsonl",
    "evaluation/interruptions.jsonl",
)
PARTS = ("dev", "dev2", "test", "test2")
"""The parts of the evaluation sets. Weights are chosen on the first part only; `dev2` was looked at
during an earlier choice. Only the set of turns has `dev2` and `test2`."""
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


@dataclass(frozen=True, slots=True)
class Interruption:
    """What somebody says while the assistant speaks.

    Attributes:
        speaking: what the assistant has said so far.
        stops: whether the assistant should stop and listen.
    """

    by: str
    speaking: str
    said: str
    stops: bool


def read_interruptions(
    name: str, limit: int | None = None, part: str | None = None
) -> list[Interruption]:
    """The interruptions in a file below `data`, or those of one part, at most `limit`.

    Raises:
        InputUnusable: the file can't be read.
    """
    rows = read_rows(located(name), "by", "speaking", "said", "stops")
    return [
        Interruption(row["by"], row["speaking"], row["said"], row["stops"])
        for row in rows
        if part is None or row.get("part") == part
    ][:limit]
