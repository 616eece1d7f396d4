"""A question looked up in the indexes of one user: the candidates of words, meaning and clues are
ranked together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice

import numpy as np

from assistant.memory.broadly import among, lifted
from assistant.memory.clues import Clues
from assistant.memory.columns import Columns
from assistant.memory.dense import Dense, Meaning
from assistant.memory.encoding import LONGEST_DOCUMENT
from assistant.memory.enriched import Extras
from assistant.memory.facts import sufficient
from assistant.memory.found import Found
from assistant.memory.lexical import Evidence as ByWords
from assistant.memory.lexical import LexicalIndex
from assistant.memory.lexicon import Lexicon
from assistant.memory.pace import Limit
from assistant.memory.question import Question
from assistant.memory.ranking import (
    Candidates,
    Evidence,
    Ranked,
    Ranking,
    best_by_words,
    rank,
    rank_in_brief,
    to_be_ranked,
)
from assistant.memory.record import Kind, Memory
from assistant.memory.tiers import Tier
from assistant.memory.vector_blocks import Cosines, Rows

CANDIDATES = 80
"""The best by words and the best by meaning; their neighbours in the conversation come on top. With
200 nothing more is found, and ranking them takes twice the time."""
BRIEFLY = 40
"""Of them that are ranked in brief, before what superseded one of them is looked for."""
REPEATING = 6
"""Ranked beyond what is asked for, in place of those that only ask, or tell, the same."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is known of the same rows, by `UserIndex`."""

    lexicon: Lexicon
    lexical: LexicalIndex
    vectors: Dense
    extras: Extras
    columns: Columns
    ranking: Ranking


def searched(
    parts: Parts,
    question: Question,
    meaning: Meaning,
    k: int,
    now: datetime,
    exclude: Collection[str],
    limit: Limit,
) -> list[Found]:
    """The k best, best first, without that same question, asked before. Under the index's lock.

    Args:
        exclude: exchanges whose memories stay out.
        limit: past it they are those that have the question's words or, where there was time to
            look for them, are near in meaning; what was said around them is not looked at then.
    """
    search = _Search.by_words(parts, question, k, now, exclude)
    if not limit.after_words():
        return search.in_brief()
    meaning = parts.vectors.usable(meaning)
    near = parts.vectors.near(meaning, CANDIDATES), parts.extras.near(meaning.quick, CANDIDATES)
    found = np.concatenate(near)
    if not limit.after_meaning():
        return search.in_brief(meaning, found)
    chosen = search.candidates(meaning, found)
    if not len(chosen.rows):
        return []
    return search.best(rank(chosen, parts.ranking, k + REPEATING))


@dataclass(frozen=True, slots=True)
class _Search:
    """One search, with what the question's words say.

    Attributes:
        own, context: evidence by words of all rows.
    """

    parts: Parts
    question: Question
    k: int
    now: datetime
    exclude: Collection[str]
    own: ByWords
    context: ByWords
    clues: Clues

    @classmethod
    def by_words(
        cls, parts: Parts, question: Question, k: int, now: datetime, exclude: Collection[str]
    ) -> "_Search":
        lexical = parts.lexical.score(question.words)
        own = parts.extras.words(question.words, lexical.own)
        clues = Clues.of(question, parts.columns, parts.lexical, parts.ranking, now)
        return cls(parts, question, k, now, exclude, own, lexical.context, clues)

    def candidates(self, meaning: Meaning, near: Rows) -> Candidates:
        """All that may come up, with what is known of each.

        Args:
            near: the nearest in meaning.
        """
        columns, size = self.parts.columns, len(self.own)
        cosines = partial(_cosines, self.parts, meaning)
        near = np.concatenate([near, self.clues.candidates(size, cosines)])
        before, after = columns.before[:size], columns.after[:size]
        rows = to_be_ranked(self.own, near, before, after, CANDIDATES)
        rows, broad = among(columns, rows, self.question.text, self.exclude, self.now)
        if broad is None:
            rows = self.clues.left(rows)
        return Candidates(
            rows=rows,
            evidence=Evidence(
                cosines(rows).astype(np.float64),
                self.own[rows].astype(np.float64),
                self.context[rows].astype(np.float64),
                self.question.speaker,
                *self.clues.evidence(rows),
            ),
            before=columns.before[rows],
            after=columns.after[rows],
            features=lifted(columns, rows, columns.features(rows, self.now), broad),
            vectors=self.parts.vectors.reader(meaning, rows),
        )

    def in_brief(self, meaning: Meaning | None = None, near: Rows | None = None) -> list[Found]:
        """The k best by the words alone or, where the nearest are known, by words and meaning.
        What superseded one of them comes before it."""
        columns = self.parts.columns
        rows = best_by_words(self.own, CANDIDATES)
        rows = np.unique(rows if near is None else np.concatenate([rows, near]))
        rows = self.clues.left(rows[columns.eligible(rows, self.exclude, self.now)])
        cosines = None if meaning is None else _cosines(self.parts, meaning, rows)
        weights, stated = self.parts.ranking, columns.stated(rows)
        found = rank_in_brief(rows, self.own[rows], stated, cosines, weights, BRIEFLY)
        ranked = {each.row: each for each in found}
        for old in [each for row, each in ranked.items() if row in columns.superseded_by]:
            row = columns.row_of.get(columns.superseded_by[old.row])
            if row is not None and columns.eligible(np.array([row]), self.exclude, self.now).all():
                new = ranked.get(row, old)
                ranked[row] = replace(old if old.score > new.score else new, row=row)
        order = sorted(
            ranked.values(),
            key=lambda each: (each.row in columns.superseded_by, -each.score, -each.row),
        )
        return self.best(order[: self.k + REPEATING])

    def best(self, ranked: Sequence[Ranked]) -> list[Found]:
        """The first k of them that tell something."""
        parts, rows = self.parts, [each.row for each in ranked]
        asked = parts.lexicon.terms(self.question.text)
        known = ranked, parts.vectors.quick.tiers(rows), self.own[rows] > 0
        return list(islice(sufficient(map(partial(_found, parts, asked), *known)), self.k))


def _cosines(parts: Parts, meaning: Meaning, rows: Rows) -> Cosines:
    return parts.extras.cosines(meaning.quick, rows, parts.vectors.cosines(meaning, rows))


def head(text: str) -> str:
    """What is looked at of a text: whoever pastes a megabyte must not make recall late for ever."""
    return text[:LONGEST_DOCUMENT]


def words_of(memory: Memory) -> tuple[str, str]:
    """Text and context as the lexical index takes them. None of a summary: it is never looked for
    by its words, and they would only make those of its sources seem common."""
    if memory.kind is Kind.SUMMARY:
        return "", ""
    return head(memory.text), memory.context


def _found(
    parts: Parts, asked: Mapping[str, set[str]], ranked: Ranked, tier: Tier, matches: bool
) -> Found:
    """
    Args:
        asked: the question's words and their stems.
        matches: whether it has any of them.
    """
    columns, row = parts.columns, ranked.row
    text = columns.texts[row]
    states = columns.states(row)
    there = set(parts.lexicon.content(head(text))) if matches or not states else set()
    return Found(
        id=columns.ids[row],
        text=text,
        kind=columns.kinds[row],
        speaker=columns.speakers[row],
        created=columns.created(row),
        score=ranked.score,
        parts=ranked.parts,
        words=tuple(word for word, stems in asked.items() if not stems.isdisjoint(there)),
        superseded_by=columns.superseded_by.get(row),
        sources=columns.sources[row],
        tier=tier,
        adds=states or not there.issubset(chain.from_iterable(asked.values())),
    )
