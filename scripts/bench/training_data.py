"""What an encoder is adapted with: utterances, and what is asked of them."""

import json
from dataclasses import dataclass
from pathlib import Path

PAIRS = "training/asked_of_said.jsonl"


@dataclass(frozen=True, slots=True)
class Told:
    """One utterance, what it answers, and what it is not to be taken for."""

    said: str
    asked: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return self.said, *self.asked, *self.beside


def read_pairs(path: Path) -> list[Told]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Told(row["said"], tuple(row["asked"]), tuple(row["beside"])) for row in rows]
