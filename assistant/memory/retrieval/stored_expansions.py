"""Stores and reads what models derived from exchanges for the index (`DerivedOutput`).

Vectors are stored too, so that a start has nothing to encode: 8 bits per dimension, which is all
that the index keeps.
"""

import base64
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assistant.language.speakers import USER
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.ids import telling
from assistant.memory.retrieval.document_expansion import Expansion
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.rows import LOOKED_UP, derived, places

DESCRIBED = "describe"
"""The kind of derived output."""
STEPS = 127


@dataclass(frozen=True, slots=True)
class Description:
    """A description of one exchange.

    `key` identifies its inputs and method; `parts` lists what the model was asked for. `of` is the
    `fingerprint` of the words described. `vectors`, by `encoder`, are those of the description, if
    there is one, and of the questions.
    """

    key: str
    parts: tuple[str, ...]
    of: str
    about: str
    questions: tuple[str, ...]
    encoder: str
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), np.float32))


def content_of(made: Description) -> dict[str, Any]:
    """A description as JSON-compatible values."""
    codes = np.rint(made.vectors * STEPS).astype(np.int8)
    return {
        "key": made.key,
        "parts": list(made.parts),
        "of": made.of,
        "about": made.about,
        "questions": list(made.questions),
        "encoder": made.encoder,
        "vectors": [base64.b64encode(row.tobytes()).decode() for row in codes],
    }


def description(content: Mapping[str, Any]) -> Description:
    rows = [np.frombuffer(base64.b64decode(row), np.int8) for row in content["vectors"]]
    codes = np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)
    vectors = codes / np.float32(STEPS)
    return Description(
        content["key"],
        tuple(content["parts"]),
        content["of"],
        content["about"],
        tuple(content["questions"]),
        content["encoder"],
        vectors,
    )


def extras(
    transcript: Transcript, user: str, encoder: str, exchanges: Collection[str] | None = None
) -> dict[str, Expansion]:
    """What was derived from these exchanges, or from all, by the ids of the memories; includes
    hidden ones.

    Args:
        encoder: whose vectors are wanted.

    Raises:
        StoreError: the transcript can't be read.
    """
    with transcript.reading() as db:
        rows = derived(db, user, DESCRIBED, exchanges)
        sources = _sources(db, [number for number, _, _ in rows], user)
    return {
        telling(subject, USER): _extra(description(json.loads(content)), encoder, sources[number])
        for number, subject, content in rows
    }


def _extra(made: Description, encoder: str, sources: Sequence[str]) -> Expansion:
    vectors = made.vectors if made.encoder == encoder else made.vectors[:0]
    return Expansion(made.of, made.about, made.questions, vectors, tuple(sources))


def _sources(db: sqlite3.Connection, numbers: Sequence[int], user: str) -> dict[int, list[str]]:
    """The sources of these outputs: looked up one by one if few, otherwise by reading all."""
    found: dict[int, list[str]] = {number: [] for number in numbers}
    query = "SELECT derived, exchange FROM derived_source"
    if len(numbers) <= LOOKED_UP:
        rows = db.execute(f"{query} WHERE derived IN ({places(numbers)})", numbers)
    else:
        rows = db.execute(
            f"{query} JOIN derived ON number = derived WHERE user = ? AND kind = ?",
            (user, DESCRIBED),
        )
    for number, exchange in rows:
        if number in found:
            found[number].append(exchange)
    return found
