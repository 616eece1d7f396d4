"""Keeps what models derived from benchmark turns, in a JSON Lines file with one line per call."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assistant.errors import ModelFailed
from assistant.idle.jobs.expansion_prompt import (
    Made,
    SpokenLine,
    made,
    prompt,
    question,
    shown,
    tells,
)
from scripts.eval.asking import Answers, key_of
from scripts.eval.recall_data import Pool

NAMES = {"user": "User", "assistant": "Assistant"}


class Call(NamedTuple):
    """A turn, and the lines before it that the idle job shows the model."""

    pool: str
    turn: str
    asked: str
    said: tuple[SpokenLine, ...]
    """The lines before the turn, and the turn itself. They must support the answer."""


@dataclass
class Cost:
    """The cost of some calls. `seconds` is the model's processor time."""

    calls: int = 0
    turns: int = 0
    seconds: float = 0.0
    read: int = 0
    generated: int = 0
    failed: int = 0


def calls(pool: Pool) -> Iterator[Call | None]:
    """The call for each turn within its conversation, None for a turn without information."""
    lines = [SpokenLine(NAMES.get(each.speaker, each.speaker), each.text) for each in pool.turns]
    first = 0
    for row, turn in enumerate(pool.turns):
        if row and turn.conversation != pool.turns[row - 1].conversation:
            first = row
        before = shown(lines[first:row], lines[row])
        asked = question(before, lines[row])
        call = Call(pool.name, turn.id, asked, (*before, lines[row]))
        yield call if tells(turn.text) else None


class Cache:
    """The models' answers, each with its cost."""

    def __init__(self, file: Path) -> None:
        self._answers = Answers(file)
        self._prompt = prompt()

    def __contains__(self, asked: tuple[str, Call]) -> bool:
        return self._key(*asked) in self._answers.rows

    def models(self) -> list[str]:
        return sorted({row["model"] for row in self._answers.rows.values()})

    def keep(self, model: str, call: Call, row: dict[str, Any]) -> None:
        of = {"model": model, "pool": call.pool, "turn": call.turn}
        self._answers.keep(self._key(model, call), of | row)

    def of(self, model: str, pool: Pool, cost: Cost) -> list[Made | None]:
        """What was derived from each row of the pool; adds up the cost in `cost`.

        The value is empty for a useless answer. For a turn without information, it is empty if a
        later turn has been answered, and None otherwise. It is also None for turns about which the
        model has not been asked."""
        found: list[Made | None] = []
        rows = self._answers.rows
        asked = [(call, call and rows.get(self._key(model, call))) for call in calls(pool)]
        last = max((at for at, (_, row) in enumerate(asked) if row), default=-1)
        for at, (call, row) in enumerate(asked):
            empty = call is None and at < last
            cost.turns += bool(row) or empty
            found.append(_made(row, cost) if row else Made() if empty else None)
        return found

    def _key(self, model: str, call: Call) -> str:
        return key_of(model, self._prompt, call.asked)


def _made(row: Mapping[str, Any], cost: Cost) -> Made:
    cost.calls += 1
    cost.seconds += row["cpu_s"]
    cost.read += row["read"]
    cost.generated += row["generated"]
    try:
        return made(json.loads(row["answer"]))
    except (ValueError, ModelFailed):
        cost.failed += 1
        return Made()


def narrowed(pool: Pool, kept: Sequence[int]) -> Pool:
    """The pool with only these turns, and only the questions whose answers are all among them."""
    rows = {old: new for new, old in enumerate(kept)}
    questions = [
        type(each)(each.text, tuple(rows[row] for row in each.gold), each.category)
        for each in pool.questions
        if rows.keys() >= set(each.gold)
    ]
    return Pool(pool.name, [pool.turns[row] for row in kept], questions)
