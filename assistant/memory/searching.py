"""A question looked up in the indexes of one user: the candidates of words, meaning and clues are
ranked together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
    to_be_ranked,
)
from assistant.memory.record import Kind, Memory
from assistant.memory.tiers import Tier
from assistant.memory.vector_blocks import Cosines, Rows

CANDIDATES = 200
"""The best by words and the best by meaning; their neighbours in the conversation come on top."""
REPEATING = 6
"""Ranked beyond what is asked for, in place of those that only ask, or tell, the same."""

AFTER_WORDS = 0.95
AFTER_MEANING = 0.5
RANKING = 0.4
"""Shares of a search that are still to come, by the time that each takes among 100,000."""


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
        limit: past it they are those that have the question's words.
    """
    columns, vectors, extras = parts.columns, parts.vectors, parts.extras
    lexical = parts.lexical.score(question.words)
    own = extras.words(question.words, lexical.own)
    clues = Clues.of(question, columns, parts.lexical, parts.ranking, now)
    by_words = partial(_by_words_alone, parts, question, own, clues, k, now, exclude)
    if not limit.allows(AFTER_WORDS):
        return by_words()
    size = len(own)
    meaning = vectors.usable(meaning)
    cosines = partial(_cosines, parts, meaning)
    found = vectors.near(meaning, CANDIDATES), extras.near(meaning.quick, CANDIDATES)
    if not limit.allows(AFTER_MEANING):
        return by_words()
    near = np.concatenate([*found, clues.candidates(size, cosines)])
    before, after = columns.before[:size], columns.after[:size]
    rows = to_be_ranked(own, near, before, after, CANDIDATES)
    rows, broad = among(columns, rows, question.text, exclude, now)
    if broad is None:
        rows = clues.left(rows)
    if not len(rows):
        return []
    chosen = Candidates(
        rows=rows,
        evidence=Evidence(
            cosines(rows).astype(np.float64),
            own[rows].astype(np.float64),
            lexical.context[rows].astype(np.float64),
            question.speaker,
            *clues.evidence(rows),
        ),
        before=columns.before[rows],
        after=columns.after[rows],
        features=lifted(columns, rows, columns.features(rows, now), broad),
        vectors=vectors.reader(meaning, rows),
    )
    if not limit.allows(RANKING):
        return by_words()
    return _best(parts, question, rank(chosen, parts.ranking, k + REPEATING), k)


def _by_words_alone(
    parts: Parts,
    question: Question,
    own: ByWords,
    clues: Clues,
    k: int,
    now: datetime,
    exclude: Collection[str],
) -> list[Found]:
    """In a fifth of the time of a whole search. What superseded a match comes before it."""
    columns, weights = parts.columns, parts.ranking
    rows = np.sort(best_by_words(own, CANDIDATES))
    rows = clues.left(rows[columns.eligible(rows, exclude, now)])
    scores = dict(zip(rows.tolist(), weights.words * own[rows] ** weights.words_power, strict=True))
    for row in [row for row in scores if row in columns.superseded_by]:
        newer = columns.row_of.get(columns.superseded_by[row])
        if newer is not None and columns.eligible(np.array([newer]), exclude, now).all():
            scores[newer] = max(scores.get(newer, 0.0), scores[row])
    ranked = [Ranked(row, float(score), {"words": float(score)}) for row, score in scores.items()]
    ranked.sort(key=lambda each: (each.row in columns.superseded_by, -each.score, -each.row))
    return _best(parts, question, ranked[: k + REPEATING], k)


def _best(parts: Parts, question: Question, ranked: Sequence[Ranked], k: int) -> list[Found]:
    """The first k of them that tell something."""
    asked = parts.lexicon.terms(question.text)
    tiers = parts.vectors.quick.tiers([each.row for each in ranked])
    return list(islice(sufficient(map(partial(_found, parts, asked), ranked, tiers)), k))


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


def _found(parts: Parts, asked: Mapping[str, set[str]], ranked: Ranked, tier: Tier) -> Found:
    """`asked`: the question's words and their stems."""
    columns, row = parts.columns, ranked.row
    text = columns.texts[row]
    there = set(parts.lexicon.content(head(text)))
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
        adds=columns.states(row) or not there.issubset(chain.from_iterable(asked.values())),
    )
