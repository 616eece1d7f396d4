"""Document expansion: makes a memory easier to find by adding the vectors of a description and of
questions derived from what was said. They are computed while the assistant is idle.

The cosine of a memory is moved part of the way towards the cosines of these vectors. (Taking the
highest of all cosines would favour memories that match general questions.) The texts are never
shown. They are stored together with their vectors, so that nothing has to be encoded at startup.
The vectors are stored with 8 bits per dimension, which is also the precision of the index.
"""

import base64
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.language.speakers import USER
from assistant.memory.records.arrays import Rows, Vector, Vectors
from assistant.memory.records.ids import telling
from assistant.memory.retrieval.vectors.vector_index import VectorIndex
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.rows import LOOKED_UP, derived, places
from assistant.settings import Idle

DESCRIBED = "describe"
"""The kind of the transcript's rows that contain expansions."""
STEPS = 127
DESCRIBE_MEANING, EXPAND_MEANING = 0.2, 0.2
DESCRIPTION, QUESTION = range(2)


@dataclass(frozen=True, slots=True)
class ExpansionWeights:
    """Weights of the expansion's vectors in a memory's cosine: one for the description, one for the
    nearest question. A vector with weight 0 doesn't count.

    The words of the expansion are not searched: searching them would help less reliably, and would
    push correct results out of the top places.
    """

    describe_meaning: float = 0.0
    expand_meaning: float = 0.0

    @classmethod
    def of(cls, settings: Idle) -> "ExpansionWeights":
        return cls(
            describe_meaning=DESCRIBE_MEANING if settings.describe == "on" else 0.0,
            expand_meaning=EXPAND_MEANING if settings.expand == "on" else 0.0,
        )

    def __bool__(self) -> bool:
        return self.describe_meaning > 0 or self.expand_meaning > 0


@dataclass(frozen=True, slots=True)
class Expansion:
    """The texts derived from one exchange, with their vectors.

    `of` is the `fingerprint` of the text that was expanded. `vectors` has the description's vector,
    if there is a description, followed by the questions' vectors; it is empty if they are unknown.
    `sources` are the ids of the exchanges that the texts are based on. `key` identifies the inputs
    and the method. `parts` names the kinds of text that the model was asked for.
    """

    of: str
    about: str = ""
    questions: tuple[str, ...] = ()
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    sources: tuple[str, ...] = ()
    key: str = ""
    parts: tuple[str, ...] = ()
    encoder: str = ""

    def fits(self, text: str) -> bool:
        return self.of == fingerprint(text)


def fingerprint(text: str) -> str:
    """Return a hash of a text. It shows whether an expansion was derived from the current text or
    an earlier one."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


# -- in the transcript ----------------------------------------------------------------------------


def content_of(made: Expansion) -> dict[str, Any]:
    """Return an expansion as JSON-compatible values, without its sources."""
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


def expansion(content: Mapping[str, Any], sources: Sequence[str] = ()) -> Expansion:
    """Return the expansion that `content_of` converted to JSON."""
    rows = [np.frombuffer(base64.b64decode(row), np.int8) for row in content["vectors"]]
    codes = np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)
    return Expansion(
        of=content["of"],
        about=content["about"],
        questions=tuple(content["questions"]),
        vectors=codes / np.float32(STEPS),
        sources=tuple(sources),
        key=content["key"],
        parts=tuple(content["parts"]),
        encoder=content["encoder"],
    )


def expansions(
    transcript: Transcript, user: str, encoder: str, exchanges: Collection[str] | None = None
) -> dict[str, Expansion]:
    """Return the expansions of these exchanges (default: of all) by the ids of the expanded
    memories. Hidden exchanges are included. Vectors from other encoders are left out.

    Raises:
        StoreError: the transcript can't be read.
    """
    with transcript.reading() as db:
        rows = derived(db, user, DESCRIBED, exchanges)
        sources = _sources(db, [number for number, _, _ in rows], user)
    found = {}
    for number, subject, content in rows:
        each = expansion(json.loads(content), sources[number])
        if each.encoder != encoder:
            each = replace(each, vectors=each.vectors[:0])
        found[telling(subject, USER)] = each
    return found


def _sources(db: sqlite3.Connection, numbers: Sequence[int], user: str) -> dict[int, list[str]]:
    """Return the source exchanges of each of these expansions. A few expansions are looked up by
    number; for many, all of the user's rows are read."""
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


# -- in the index ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Expanded:
    """The expansion of one memory: the row numbers of its vectors in `DocumentExpansion`, and the
    exchanges that the expansion is based on."""

    vectors: tuple[int, ...]
    sources: tuple[str, ...]


class DocumentExpansion:
    """The fast encoder's vectors of all expansions of a user's index. Call its methods only while
    holding that index's lock."""

    def __init__(self, dimensions: int, weights: ExpansionWeights) -> None:
        self._enabled = bool(weights)
        self._weights = (weights.describe_meaning, weights.expand_meaning)
        self._vectors = VectorIndex(dimensions)
        self._rows: list[int] = []
        """For each vector, the row of its memory."""
        self._kinds: list[int] = []
        """For each vector, `DESCRIPTION` or `QUESTION`."""
        self._expanded: dict[int, _Expanded] = {}
        """Expansions by the row of their memory."""
        self._based_on: dict[str, set[int]] = {}
        """For each exchange, the rows of the memories whose expansion is based on it."""
        self._hidden_exchanges: frozenset[str] = frozenset()
        self._hidden: set[int] = set()
        """Rows of the memories whose expansion is based on a hidden exchange."""

    def __len__(self) -> int:
        """Return the number of memories with an expansion."""
        return len(self._expanded)

    def put(self, expansions: Mapping[int, Expansion]) -> None:
        self.remove(expansions)
        for row, each in expansions.items():
            kinds = [DESCRIPTION] * bool(each.about) + [QUESTION] * len(each.questions)
            known = enumerate(kinds[: len(each.vectors)])
            used = [at for at, kind in known if self._weights[kind]]
            start = len(self._rows)
            if used:
                self._vectors.add(each.vectors[used])
            self._rows += [row] * len(used)
            self._kinds += [kinds[at] for at in used]
            vectors = tuple(range(start, len(self._rows)))
            self._expanded[row] = _Expanded(vectors, each.sources)
            for source in each.sources:
                self._based_on.setdefault(source, set()).add(row)
        self._find_hidden()

    def remove(self, rows: Iterable[int]) -> None:
        found = {row: self._expanded.pop(row) for row in rows if row in self._expanded}
        self._vectors.remove([each for gone in found.values() for each in gone.vectors])
        for row, gone in found.items():
            for source in gone.sources:
                based = self._based_on[source]
                based.discard(row)
                if not based:
                    del self._based_on[source]
        self._hidden.difference_update(found)

    def hide(self, exchanges: Collection[str]) -> None:
        """Ignore the expansions that are based on these exchanges. Exchanges given in an earlier
        call are no longer hidden."""
        self._hidden_exchanges = frozenset(exchanges)
        self._find_hidden()

    def delete_hidden(self) -> None:
        self.remove(list(self._hidden))

    def near(self, vector: Vector | None, count: int) -> Rows:
        """Return the rows of memories whose expansions are near the vector in meaning. At most
        `count` expansion vectors are considered."""
        if vector is None or not self._expanded or not self._enabled:
            return np.empty(0, np.int64)
        found, _ = self._vectors.search(vector, count)
        rows = np.unique(np.array(self._rows, np.int64)[found])
        return rows[~np.isin(rows, list(self._hidden))] if self._hidden else rows

    def cosines(
        self, vector: Vector | None, rows: Rows, own: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return each row's own cosine, raised or lowered by the cosines of its description and its
        nearest question. A row without a vector of its own gets the best cosine of its expansion;
        NaN if it has no expansion either."""
        if vector is None or not self._expanded or not self._enabled:
            return own
        pairs = [
            (at, each)
            for at, row in enumerate(rows.tolist())
            if row in self._expanded and row not in self._hidden
            for each in self._expanded[row].vectors
        ]
        if not pairs:
            return own
        at, vectors = np.array(pairs, np.int64).T
        found, kinds = self._vectors.cosines(vector, vectors), np.array(self._kinds)[vectors]
        cosines, best = own.copy(), np.full(len(rows), np.nan, np.float32)
        for kind, weight in enumerate(self._weights):
            nearest = np.full(len(rows), np.nan, np.float32)
            np.fmax.at(nearest, at[kinds == kind], found[kinds == kind])
            cosines += weight * _above_average(nearest - own)
            best = np.fmax(best, nearest)
        return np.where(np.isnan(own), best, cosines)

    def _find_hidden(self) -> None:
        self._hidden = {
            row for each in self._hidden_exchanges for row in self._based_on.get(each, ())
        }


def _above_average(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values minus their average; 0 where a value is NaN.

    Questions resemble other questions more than they resemble statements. Without this, memories
    that have no derived questions would rank lower for that reason alone.
    """
    known = values[~np.isnan(values)]
    mean = known.mean() if len(known) else np.float32(0)
    return np.where(np.isnan(values), np.float32(0), values - mean)
