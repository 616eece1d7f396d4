"""Searches all facts and distractors for the answers to follow-up questions, by four methods.

`ours` is the product's method. `plain` uses only the question. `joined` encodes the question and
the earlier words as one text. `always` adds the earlier vectors and words to those of the question,
even if the question is not a follow-up.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import Vector
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.question import Earlier, Question, read_question, understood
from assistant.memory.retrieval.question_vectors import (
    ANSWERED_BEFORE,
    SAID_BEFORE,
    QuestionEncoder,
)
from scripts.common.rows import read_rows
from scripts.eval.encoders import Encode
from scripts.eval.recall_data import Pool
from scripts.eval.recall_methods import FOUND, indexed, memory
from scripts.eval.recall_metrics import Values, intervals, means, of_question

FOLLOW_UPS = "evaluation/follow_ups.jsonl"
METHODS = ("ours", "plain", "joined", "always")
LEISURE_S = 3600.0


class Asked(NamedTuple):
    """A question after an exchange, and the row of the memory that answers it."""

    text: str
    earlier: Earlier
    gold: int
    category: str


class Bench:
    """All facts and distractors, indexed as in the product, and the methods to search them."""

    def __init__(self, pool: Pool, encoder: QueryEncoder, documents: Encode) -> None:
        vectors = documents([turn.text for turn in pool.turns])
        self._encoder = encoder
        self._asking = QuestionEncoder(encoder, TextAnalyzer("en"), lambda: {USER})
        said = [memory(turn, pool.name) for turn in pool.turns]
        self._index = indexed(pool.name, said, vectors)
        self._rows = {turn.id: row for row, turn in enumerate(pool.turns)}
        self._now: datetime = max(turn.when for turn in pool.turns if turn.when) + timedelta(days=1)

    async def found(self, asked: Asked) -> dict[str, list[int]]:
        if asked.category == "first half":
            return self._at_the_deadline(asked)
        self._encoder.encode_documents([asked.earlier.said, asked.earlier.answered])
        due = time.monotonic() + LEISURE_S
        ours = await self._asking.ask(asked.text, due, [asked.earlier])
        question = read_question(asked.text, [USER])
        own = self._encoder.encode_query(asked.text)
        joined = f"{asked.earlier.said} {asked.earlier.answered} {asked.text}"
        leaning = understood(question, asked.earlier)
        return {
            "ours": self._rows_of(ours.question, ours.vector),
            "plain": self._rows_of(question, own),
            "joined": self._rows_of(leaning, self._encoder.encode_query(joined)),
            "always": self._rows_of(leaning, self._sum(own, asked.earlier)),
        }

    def _at_the_deadline(self, asked: Asked) -> dict[str, list[int]]:
        question = read_question(asked.text, [USER])
        words = asked.text.split()
        half = self._encoder.encode_query(" ".join(words[: (len(words) + 1) // 2]))
        plain = self._rows_of(question, None)
        return {
            "ours": self._rows_of(question, half),
            **dict.fromkeys(("plain", "joined", "always"), plain),
        }

    def _sum(self, own: Vector, earlier: Earlier) -> Vector:
        said, answered = self._encoder.encode_documents([earlier.said, earlier.answered])
        total = own + np.float32(SAID_BEFORE) * said + np.float32(ANSWERED_BEFORE) * answered
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def _rows_of(self, question: Question, vector: Vector | None) -> list[int]:
        found = self._index.search(question, vector, k=FOUND, now=self._now)
        return [self._rows[each.id] for each in found]


def read(pool: Pool, path: Path) -> list[Asked]:
    """The follow-ups, and every question of the pool twice: without an earlier exchange, and after
    the earlier exchange of a random follow-up (drawn with a fixed seed)."""
    rows = {turn.id: row for row, turn in enumerate(pool.turns)}
    lines = read_rows(path)
    before = [Earlier(line["said"], line["answered"]) for line in lines]
    asked = [
        Asked(line["question"], earlier, rows[line["answer"]], "follow-up")
        for line, earlier in zip(lines, before, strict=True)
    ]
    draw = Random(1)
    for question in pool.questions:
        asked.append(Asked(question.text, draw.choice(before), question.gold[0], "new topic"))
        asked.append(Asked(question.text, Earlier(""), question.gold[0], "first half"))
    return asked


async def measured(bench: Bench, questions: Sequence[Asked]) -> dict[str, dict[str, Values]]:
    """Each question's metrics by category and method."""
    rows: dict[str, dict[str, list[list[float]]]] = {}
    for asked in questions:
        of_kind = rows.setdefault(asked.category, {name: [] for name in METHODS})
        for name, order in (await bench.found(asked)).items():
            of_kind[name].append(of_question(order, [asked.gold]))
    return {
        kind: {name: np.array(values) for name, values in of_kind.items()}
        for kind, of_kind in rows.items()
    }


def figures(values: dict[str, dict[str, Values]]) -> dict[str, Any]:
    return {
        kind: {
            **{name: means(each) for name, each in of_kind.items()},
            "intervals": {name: intervals(each) for name, each in of_kind.items()},
            "ours_less_plain": intervals(of_kind["ours"] - of_kind["plain"]),
            "questions": len(of_kind["ours"]),
        }
        for kind, of_kind in values.items()
    }
