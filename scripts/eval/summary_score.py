"""Reads conversations with broad questions, and scores how much of an answer the notes contain."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from assistant.context.conversation import Exchange
from scripts.common import rows as json_rows

BETWEEN = timedelta(seconds=40)
"""Time from one turn to the next."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. Each of `points` stands for something that a good answer names. It has
    alternatives, separated by bars. The notes contain an alternative if one line has words that
    begin with each of its parts."""

    id: str
    kind: str
    question: str
    at: datetime
    points: tuple[str, ...]


def read_rows(path: Path) -> tuple[dict[str, list[Exchange]], list[Asked]]:
    """The conversations by their ids, and the questions."""
    talks: dict[str, list[Exchange]] = {}
    questions = []
    for row in json_rows.read_rows(path):
        if row["row"] == "question":
            at = datetime.fromisoformat(row["asked"]).astimezone()
            kind, points = row["kind"], tuple(row["points"])
            questions.append(Asked(row["id"], kind, row["question"], at, points))
            continue
        started = datetime.fromisoformat(row["started"]).astimezone()
        talks[row["id"]] = [
            Exchange(
                id=f"{row['id']}{number:02}",
                turn=number,
                user_text=turn["user"],
                started=started + number * BETWEEN,
                assistant_text=turn["assistant"],
                ended=started + number * BETWEEN,
            )
            for number, turn in enumerate(row["turns"], start=1)
        ]
    return talks, questions


def covered(notes: str, points: Sequence[str]) -> float:
    """The share of the points that the notes contain.

    >>> covered("- yesterday: We paid nine hundred.", ["paid hundred|900", "roof"])
    0.5
    """
    lines = [re.findall(r"[\w'-]+", line.lower()) for line in notes.splitlines()]
    return sum(any(_has(line, point) for line in lines) for point in points) / len(points)


def _has(line: Sequence[str], point: str) -> bool:
    return any(
        all(any(word.startswith(part) for word in line) for part in alternative.split())
        for alternative in point.lower().split("|")
    )
