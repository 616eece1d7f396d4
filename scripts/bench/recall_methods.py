"""The ways of recall that are measured against each other, ours by the product's own modules."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from assistant.memory.enriched import Enrichment, Extra
from assistant.memory.lexicon import Lexicon
from assistant.memory.question import day_words, read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import ASSISTANT, USER, Kind, Memory
from assistant.memory.user_index import UserIndex
from scripts.bench.recall_data import Pool, Turn
from scripts.bench.retrieval import reciprocal_ranks

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
UNKNOWN = datetime(2000, 1, 1, tzinfo=UTC)
"""In place of a time that is not known."""
METHODS = ("ours", "bm25", "dense", "rrf")
FOUND = 20


class Encoders(NamedTuple):
    """Documents in full precision; queries perhaps not."""

    documents: Encode
    queries: Encode


class Ours:
    """One user's memories of one pool, indexed and searched as the product does it. Without
    `meaning` it is what recall falls back to at its deadline.

    Args:
        extras: what was made of turns, by their ids.
        enrichment: what of it counts.
    """

    def __init__(
        self,
        pool: Pool,
        encoders: Encoders,
        weights: Ranking,
        *,
        meaning: bool = True,
        enrichment: Enrichment | None = None,
        extras: Mapping[str, Extra] | None = None,
    ) -> None:
        vectors = encoders.documents([turn.text for turn in pool.turns])
        self._queries = encoders.queries if meaning else None
        self._index = UserIndex(
            pool.name, Lexicon("en"), vectors.shape[1], weights, enrichment=enrichment
        )
        self._index.add([memory(turn, pool.name) for turn in pool.turns], vectors)
        self._index.enrich(extras or {})
        self._rows = {turn.id: row for row, turn in enumerate(pool.turns)}
        self._speakers = sorted({turn.speaker for turn in pool.turns})
        times = [turn.when for turn in pool.turns if turn.when]
        self._now = max(times, default=UNKNOWN) + timedelta(days=1)

    def __call__(self, text: str) -> list[int]:
        question = read_question(text, self._speakers)
        vector = self._queries([question.meaning])[0] if self._queries else None
        found = self._index.search(question, vector, k=FOUND, now=self._now)
        return [self._rows[each.id] for each in found]


def memory(turn: Turn, user: str) -> Memory:
    """As it is taken in: the turn to the letter, with its day to be searched."""
    return Memory(
        id=turn.id,
        user_id=user,
        kind=Kind.EXCHANGE,
        text=turn.text,
        created=turn.when or UNKNOWN,
        speaker=turn.speaker,
        conversation=turn.conversation,
        context=day_words(turn.when) if turn.when else "",
    )


class Baselines:
    """BM25 as bm25s ships it, cosine alone, and both by reciprocal rank fusion. The speaker's name
    goes before what was said, which is the better for all three."""

    def __init__(self, pool: Pool, encoders: Encoders) -> None:
        texts = [named(turn) for turn in pool.turns]
        self._stemmer = Stemmer.Stemmer("english")
        self._bm25 = bm25s.BM25()
        self._bm25.index(self._tokens(texts), show_progress=False)
        self._vectors, self._queries = encoders.documents(texts), encoders.queries

    def __call__(self, text: str) -> dict[str, list[int]]:
        words = self._tokens([text])
        lexical = self._bm25.get_scores(words[0]) if words[0] else np.zeros(len(self._vectors))
        cosines = self._vectors @ self._queries([text])[0]
        by_words, by_meaning = (np.argsort(-each, kind="stable") for each in (lexical, cosines))
        fused = reciprocal_ranks([by_words, by_meaning], len(cosines))
        orders = (by_words, by_meaning, np.argsort(-fused, kind="stable"))
        return {
            name: order[:FOUND].tolist() for name, order in zip(METHODS[1:], orders, strict=True)
        }

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        found = bm25s.tokenize(
            list(texts),
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        return [list(map(str, each)) for each in found]


def named(turn: Turn) -> str:
    """What was said with the name of who said it, where there is a name."""
    return turn.text if turn.speaker in (USER, ASSISTANT) else f"{turn.speaker}: {turn.text}"
