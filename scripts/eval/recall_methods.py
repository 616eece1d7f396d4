"""The recall methods that are compared; ours runs on the product's own modules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from assistant.context.conversation import Exchange
from assistant.idle.jobs.fact_extraction import candidates
from assistant.language.calendar import day_words
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.materialize import IMPORTANCE
from assistant.memory.records.ids import exchange_of
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.deadline import SearchDeadline, StepTimes
from assistant.memory.retrieval.document_expansion import Expansion, ExpansionWeights
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.transcript.fact_rows import content_of, memories_of_facts
from scripts.eval.encoders import Encoders
from scripts.eval.recall_data import Pool, Turn
from scripts.eval.recall_metrics import reciprocal_ranks

UNKNOWN = datetime(2000, 1, 1, tzinfo=UTC)
"""Used instead of an unknown time."""
METHODS = ("ours", "bm25", "dense", "rrf")
FOUND = 20
NO_TURN = -1
"""Used instead of a row for a memory that is not a turn, and so is never a right answer."""
IN_BRIEF, WORDS_ALONE = StepTimes(ranking=math.inf), StepTimes(meaning=math.inf)
"""Expected durations that leave no time for a step: the first, for the full ranking; the second,
for the search by meaning."""
DUE = 1e12
"""A deadline that is never reached."""


class Ours:
    """One user's memories of one pool, indexed and searched as in the product, with both encoders
    if there are two. Without `meaning`, or if `expected` leaves no time for a step, it works like
    recall near its deadline.

    Args:
        beside: memories that are not turns. A fact stands for the turn from which it was extracted.
        extras: a turn's id → the texts derived from the turn, with their vectors from the fast
            encoder.
        enrichment: the weights of these texts.
    """

    def __init__(
        self,
        pool: Pool,
        encoders: Encoders,
        weights: Ranking,
        *,
        meaning: bool = True,
        expected: StepTimes | None = None,
        beside: Sequence[Memory] = (),
        enrichment: ExpansionWeights | None = None,
        extras: Mapping[str, Expansion] | None = None,
    ) -> None:
        memories = [*(memory(turn, pool.name) for turn in pool.turns), *beside]
        texts = [each.text for each in memories]
        quick = encoders.quick
        vectors = quick.documents(texts)
        self._limit = (
            (lambda: None) if expected is None else (lambda: SearchDeadline(DUE, expected))
        )
        self._quick = quick.queries if meaning else None
        self._stronger = encoders.queries if meaning and encoders.stand_in else None
        self._index = indexed(pool.name, memories, vectors, weights, enrichment)
        if self._stronger is not None:
            better = encoders.documents(texts)
            self._index.attach_stronger(better.shape[1])
            self._index.set_vectors([each.id for each in memories], better, stronger=True)
        self._index.enrich(extras or {})
        self._rows = {turn.id: row for row, turn in enumerate(pool.turns)}
        of_turns = {each.id: exchange_of(each.id) for each in beside}
        self._rows |= {key: self._rows[of[0]] for key, of in of_turns.items() if of is not None}
        self._most = 2 * FOUND if any(of_turns.values()) else FOUND
        self._speakers = sorted({turn.speaker for turn in pool.turns})
        times = [turn.when for turn in pool.turns if turn.when]
        self._now = pool.asked or max(times, default=UNKNOWN) + timedelta(days=1)

    def __call__(self, text: str) -> list[int]:
        question = read_question(text, self._speakers)
        both = (self._quick, self._stronger)
        vector, stronger = (each([question.meaning])[0] if each else None for each in both)
        found = self._index.search(
            question, vector, stronger=stronger, k=self._most, now=self._now, limit=self._limit()
        )
        rows = [self._rows.get(each.id, NO_TURN) for each in found]
        return list(dict.fromkeys(rows))[:FOUND] if self._most > FOUND else rows


def indexed(
    user: str,
    memories: Sequence[Memory],
    vectors: NDArray[np.float32],
    weights: Ranking | None = None,
    enrichment: ExpansionWeights | None = None,
) -> UserIndex:
    """An index built as in the product, with the product's weights unless others are given."""
    index = UserIndex(
        user, TextAnalyzer("en"), vectors.shape[1], weights or Ranking(), enrichment=enrichment
    )
    index.add(memories, vectors)
    return index


def taken_out(pool: Pool) -> list[Memory]:
    """Facts extracted by rules, each attributed to the speaker of its turn."""
    lexicon, made = TextAnalyzer("en"), list[Memory]()
    for turn in pool.turns:
        said = Exchange(turn.id, 0, turn.text, turn.when or UNKNOWN, ended=turn.when)
        content = content_of(candidates(turn.text, said.started, lexicon).kept)
        facts = memories_of_facts(pool.name, turn.conversation, said, content)
        made += [replace(each, speaker=turn.speaker) for each in facts]
    return made


def memory(turn: Turn, user: str) -> Memory:
    """A memory as the product stores it: the exact text of the turn, and its date in words for the
    search."""
    return Memory(
        id=turn.id,
        user_id=user,
        kind=MemoryKind.EXCHANGE,
        text=turn.text,
        created=turn.when or UNKNOWN,
        speaker=turn.speaker,
        conversation=turn.conversation,
        context=day_words(turn.when) if turn.when else "",
        importance=IMPORTANCE.get(turn.speaker, IMPORTANCE[USER]),
    )


class Baselines:
    """BM25 with the defaults of bm25s, cosine similarity, and the two combined by reciprocal rank
    fusion. The speaker's name is put before each text, which improves all three."""

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
    """The text of a turn, preceded by the speaker's name if there is one."""
    return turn.text if turn.speaker in (USER, ASSISTANT) else f"{turn.speaker}: {turn.text}"
