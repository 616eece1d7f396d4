"""Reads our own questions that mention a time, or a person by relation ("my sister"), and the
utterances among which the answers are searched for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from assistant.language.speakers import USER
from scripts.common.rows import read_rows
from scripts.eval.recall_data import FIRST_DAY, Pool, Question, Turn

Row = Mapping[str, Any]
AFTERWARDS = timedelta(days=10)
"""Time between the last utterance and a question that has no date of its own."""


def read_times(path: Path, distractors: Path) -> list[Pool]:
    """One pool for each day on which a question is asked, with everything said until then. A
    question's category says whether its words name a time."""
    rows, rest = read_rows(path), [_turn(row, _day(row)) for row in read_rows(distractors)]
    said = [_turn(row, _noon(row["on"])) for row in rows if "said" in row] + rest
    asked = [row for row in rows if "question" in row]
    return [
        _pool(
            path.stem,
            [turn for turn in said if turn.when and turn.when.date() <= day],
            [row for row in asked if row["asked"] == day.isoformat()],
            datetime.combine(day, time(18), UTC),
        )
        for day in sorted({date.fromisoformat(row["asked"]) for row in asked})
    ]


def read_linked(path: Path, distractors: Path) -> list[Pool]:
    """A single pool with all questions that name a person by relation."""
    rows = read_rows(path)
    said = [row for row in rows if "said" in row] + read_rows(distractors)
    turns = [_turn(row, _day(row)) for row in said]
    last = max(turn.when for turn in turns if turn.when)
    return [_pool(path.stem, turns, [row for row in rows if "question" in row], last + AFTERWARDS)]


def _pool(name: str, said: Sequence[Turn], asked: Sequence[Row], now: datetime) -> Pool:
    turns = sorted(said, key=lambda turn: (turn.when or now, turn.id))
    at = {turn.id: place for place, turn in enumerate(turns)}
    questions = [
        Question(
            row["question"], tuple(at[each] for each in row["answers"]), row.get("names", "role")
        )
        for row in asked
    ]
    return Pool(name, turns, questions, now)


def _turn(row: Row, when: datetime) -> Turn:
    """A turn; everything said on one day is one conversation."""
    return Turn(row["id"], USER, row["said"], when.date().isoformat(), when)


def _day(row: Row) -> datetime:
    return FIRST_DAY + timedelta(days=row["day"])


def _noon(day: str) -> datetime:
    return datetime.combine(date.fromisoformat(day), time(12), UTC)
