"""Which memories matter for a question: from evidence to an order, as arithmetic on arrays.

The score of a memory is a sum, so that each part can be shown. The words' part grows faster than
the evidence, and shrinks with the number of memories that have as much: one that has most of the
question's rare words is lifted far, one of many that share a word with it hardly at all. So
conversations that repeat their words are found by words, and what was said in other words is
decided by its meaning, with the same weights.

A turn is understood by those around it: it gets a share of their evidence, most of it from the one
just before, which is often the question that it answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.language.speakers import USER
from assistant.memory.records.arrays import NONE, Places, Values, VectorsAt, places

COMPARED = 64
"""Vectors of the best that are read and compared with each other. Where more lie so close together,
it is of no account which of them come up."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The weights. A cosine counts 1; what is the same for all memories changes no order.

    Those of the evidence were chosen on two-person conversations and on facts asked for in other
    words, together; they may be halved or doubled at little loss. The others are to tell apart what
    matches about equally well.
    """

    words: float = 2.0
    """For full evidence (1) by words that no other memory has."""
    words_power: float = 2.0
    """The evidence counts raised to this: 0.5 of it gives a quarter of the above."""
    words_common: float = 2.0
    """How much less it counts where other memories match at least as well: it is divided by 1 and
    this many times the logarithm of their number, itself included. Among ten: a sixth."""
    context: float = 0.5
    """What a word in a memory's context, such as its date, counts of one in its own text."""
    words_before: float = 0.9
    """Share of the words' part that a turn gets from the turn before it."""
    words_near: float = 0.7
    """From the turn after it, and from the one before the last."""
    meaning_near: float = 0.15
    """Share of what the cosines of the turns just before and after it are above the average."""
    times: float = 0.4
    """For what was told in the time that the question names, or tells of it (`row_times`)."""
    dated: float = 0.1
    """For what tells of some day, where the question is when."""
    linked: float = 0.4
    """For what names whom the question means by what they are to the user (`roles`)."""
    speaker: float = 0.3
    """For a turn of the speaker whom the question is about."""
    statement: float = 0.2
    """For a long turn that asks nothing; greetings, exclamations and questions tell little."""
    asked: float = 0.25
    """Taken from what the user only asked: it tells nothing, though it is most like a question."""
    statement_words: float = 5.0
    """Words outside of questions with which a turn gets half of that."""
    importance: float = 0.1
    """For the whole range from unimportant to most important."""
    confidence: float = 0.1
    """For certain knowledge against none."""
    recency: float = 0.02
    """For what was said just now; half of it for what is `recency_days` old."""
    recency_days: float = 30.0
    use: float = 0.02
    """For each doubling of how often it was used; fades like recency since the last use."""
    most_uses: int = 7
    """More count no more: what comes up often would come up ever more often."""
    feedback: float = 0.05
    """For each time that it was marked as rightly recalled; as much less for wrongly."""
    most_feedback: int = 4
    """Marks beyond so many count no more, in either direction."""
    pinned: float = 0.05
    superseded: float = 0.1
    """Taken from what has been superseded; where its successor is found too, it comes right after
    that one at best."""
    redundancy: float = 0.15
    """Taken for being the same as what is ahead of it; less for being like it."""
    alike: float = 0.5
    """Cosine from which on two memories say something alike."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How well each candidate matches: cosine, and evidence by words in [0, 1) (`LexicalIndex`).

    Cosines are all 0 where the question's vector came too late, and NaN where a memory has no
    vector yet: it counts as one of average meaning.
    """

    cosine: Values
    own: Values
    context: Values
    speaker: str | None = None
    """Whom the question is about (`question.read_question`)."""
    times: Values | None = None
    """How close each is to the time that the question names, in [0, 1], if it names one."""
    dated: Values | None = None
    """1 where a memory tells of a day, if the question asks when."""
    linked: Values | None = None
    """1 where a memory names somebody whom the question mentions otherwise."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where the turns just before and after each candidate stand among the candidates."""

    before: Places
    after: Places


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of each candidate whatever is asked."""

    age_days: Values
    unused_days: Values
    """Since the last use; as old as it is, where it was never used."""
    importance: Values
    confidence: Values
    uses: Values
    feedback: Values
    pinned: NDArray[np.bool_]
    superseded: NDArray[np.bool_]
    speakers: Sequence[str] | NDArray[np.object_]
    statement: Values | None = None
    """How many of its words are not part of a question (`question.stated`)."""
    successor: Places | None = None
    """Which candidate supersedes it, or `NONE`."""
    lift: Values | None = None
    """What it counts more for a question as broad as this (`broadly`)."""


Parts = Mapping[str, Values]
"""The parts of the scores by name; they add up to the scores."""


def fuse(
    evidence: Evidence, neighbours: Neighbours, features: Features, weights: Ranking
) -> tuple[Values, Parts]:
    """The scores of all candidates, and the parts they are made of.

    The order of the candidates is of no account. About 0.2 ms for 1,000 of them.
    """
    cosine = _filled(evidence.cosine)
    words = _by_words(evidence.own + weights.context * evidence.context, weights)
    parts = {
        "meaning": cosine,
        "words": words,
        "around": _around(cosine, words, neighbours, features.speakers, weights),
        "time": _known(weights.times, evidence.times, len(cosine))
        + _known(weights.dated, evidence.dated, len(cosine)),
        "linked": _known(weights.linked, evidence.linked, len(cosine)),
        "speaker": weights.speaker * _spoken_by(evidence.speaker, features.speakers),
        "statement": _statement(features.statement, weights, len(cosine)),
        "asked": _asked(features, weights, len(cosine)),
        "importance": weights.importance * (features.importance - 0.5),
        "confidence": weights.confidence * (features.confidence - 1.0),
        "recency": weights.recency * _faded(features.age_days, weights),
        "use": weights.use
        * np.log2(1 + np.minimum(features.uses, weights.most_uses))
        * _faded(features.unused_days, weights),
        "feedback": weights.feedback
        * np.minimum(np.maximum(features.feedback, -weights.most_feedback), weights.most_feedback),
        "pinned": weights.pinned * features.pinned,
        "broad": np.zeros(len(cosine)) if features.lift is None else features.lift,
    }
    scores = np.zeros(len(cosine))
    for part in parts.values():
        scores += part
    final = _superseded(scores, features, weights)
    return final, {**parts, "superseded": final - scores}


def _by_words(evidence: Values, weights: Ranking) -> Values:
    """A word of the question that many memories have may be rare among all words, and still say
    little about which of them is meant."""
    words = np.zeros(len(evidence))
    matching = np.flatnonzero(evidence > 0)  # a fifth of them; powers are what takes its time
    some = evidence[matching]
    as_good = len(some) - np.searchsorted(np.sort(some), some)
    common = 1 + weights.words_common * np.log(as_good)
    words[matching] = weights.words * some**weights.words_power / common
    return words


def _known(weight: float, values: Values | None, count: int) -> Values:
    return np.zeros(count) if values is None else weight * values


def _spoken_by(speaker: str | None, speakers: Sequence[str] | NDArray[np.object_]) -> Values:
    if speaker is None:
        return np.zeros(len(speakers))
    return np.asarray(np.asarray(speakers, np.object_) == speaker, np.float64)


def _filled(cosine: Values) -> Values:
    known = ~np.isnan(cosine)
    return cosine if known.all() else np.where(known, cosine, mean_cosine(cosine[known]))


def mean_cosine(values: Values) -> float:
    return float(values.mean()) if len(values) else 0.0


def _around(
    cosine: Values,
    words: Values,
    neighbours: Neighbours,
    speakers: Sequence[str] | NDArray[np.object_],
    weights: Ranking,
) -> Values:
    """What the turns around each contribute, where somebody else said them: what it answers, and
    what answers it. The next thing that one says without being answered may be about anything.

    Of their meaning only what is above average: the others' cosines tell nothing, and to have no
    neighbour is no fault.
    """
    said = np.asarray(speakers, np.object_)
    before, after = (
        np.where(said[places] == said, NONE, places)
        for places in (neighbours.before, neighbours.after)
    )
    # What stands at the end is what the place `NONE` gives.
    before_each = np.append(before, NONE)
    words = np.append(words, 0.0)
    above = np.append(np.maximum(0.0, cosine - mean_cosine(cosine)), 0.0)
    return np.asarray(
        weights.words_before * words[before]
        + weights.words_near * (words[after] + words[before_each[before]])
        + weights.meaning_near * (above[before] + above[after])
    )


def _statement(words: Values | None, weights: Ranking, count: int) -> Values:
    if words is None:
        return np.zeros(count)
    return weights.statement * words / (words + weights.statement_words)


def _asked(features: Features, weights: Ranking, count: int) -> Values:
    if features.statement is None:
        return np.zeros(count)
    own = np.asarray(features.speakers, np.object_) == USER
    return np.asarray(-weights.asked * (own & (features.statement == 0)), np.float64)


def _faded(days: Values, weights: Ranking) -> Values:
    # A clock that was set back makes things from the future: they are new.
    return np.asarray(np.exp2(-np.maximum(days, 0.0) / weights.recency_days))


def _superseded(scores: Values, features: Features, weights: Ranking) -> Values:
    """What superseded a match is a match itself, and goes ahead of it: who asks where they live
    may be asking in the words of the address before last."""
    final: Values = np.where(features.superseded, scores - weights.superseded, scores)
    if features.successor is None:
        return final
    old = np.flatnonzero(features.successor != NONE)
    for _ in range(len(old)):
        new = features.successor[old]
        lifted = final.copy()
        np.maximum.at(lifted, new, final[old])
        if np.array_equal(lifted, final):
            break
        final = lifted
    for _ in range(len(old)):
        ceiling = np.nextafter(final[features.successor[old]], -np.inf)
        if (final[old] <= ceiling).all():
            break
        final[old] = np.minimum(final[old], ceiling)
    return final


def diversify(scores: Values, vectors: VectorsAt | None, k: int, weights: Ranking) -> Places:
    """Positions of the k best, best first, each chosen for its score less what it repeats of those
    chosen before it (maximal marginal relevance). Among equals the earlier position is first.

    Args:
        vectors: reads those at these positions, of length 1; NaN where there is none. None leaves
            the order to the scores.
    """
    if vectors is None or not weights.redundancy or len(scores) <= 1:
        return np.argsort(-scores, kind="stable")[:k]
    # What lies farther below the k-th than the greatest penalty can't come up.
    kth = -min(k, len(scores))
    near = np.flatnonzero(scores >= np.partition(scores, kth)[kth] - weights.redundancy)
    pool = near[np.argsort(-scores[near], kind="stable")][: max(k, COMPARED)]
    given = vectors(pool)
    worth = scores[pool]
    after_each = worth - _repeats(given @ given.T, weights)
    chosen: list[int] = []
    while len(chosen) < min(k, len(pool)):
        best = int(worth.argmax())
        chosen.append(best)
        np.minimum(worth, after_each[best], out=worth)
        worth[best] = -np.inf
    return pool[chosen]


def _repeats(cosines: NDArray[np.float32], weights: Ranking) -> Values:
    """0 for those without a vector, whose cosines are NaN."""
    alike = (cosines - weights.alike) / (1 - weights.alike)
    return np.asarray(weights.redundancy * np.fmin(np.fmax(alike, 0.0), 1.0), np.float64)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is to be ranked for a query; all arrays in the order of `rows`, which ascend."""

    rows: Places
    evidence: Evidence
    before: Places
    after: Places
    """The rows said just before and after in the same conversation, or `NONE`."""
    features: Features
    vectors: VectorsAt | None = None
    """For telling what is redundant; reads those of the rows at these positions."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One of the best, and why. `parts` add up to the score; those that are 0 are left out."""

    row: int
    score: float
    parts: Mapping[str, float]


def rank(candidates: Candidates, weights: Ranking, k: int) -> list[Ranked]:
    """The k best, best first."""
    features, rows = candidates.features, candidates.rows
    neighbours = Neighbours(*places(rows, np.stack([candidates.before, candidates.after])))
    scores, parts = fuse(candidates.evidence, neighbours, features, weights)
    return _ranked(rows, scores, parts, diversify(scores, candidates.vectors, k, weights))


def _ranked(rows: Places, scores: Values, parts: Parts, best: Places) -> list[Ranked]:
    names, values = list(parts), np.stack([part[best] for part in parts.values()]).T.tolist()
    return [
        Ranked(row, score, {name: part for name, part in zip(names, each, strict=True) if part})
        for row, score, each in zip(rows[best].tolist(), scores[best].tolist(), values, strict=True)
    ]


def rank_in_brief(
    rows: Places, own: Values, cosine: Values, features: Features, weights: Ranking, k: int
) -> list[Ranked]:
    """The k best by words and meaning, best first; the newer of equals. In a third of the time of
    `rank`.

    Args:
        own, cosine: as in `Evidence`.
    """
    parts = {
        "meaning": _filled(cosine),
        "words": _by_words(own, weights),
        "statement": _statement(features.statement, weights, len(rows)),
        "asked": _asked(features, weights, len(rows)),
        "broad": np.zeros(len(rows)) if features.lift is None else features.lift,
    }
    scores = np.sum(list(parts.values()), axis=0)
    final = _superseded(scores, features, weights)
    best = np.lexsort((-rows, -final))[:k]
    return _ranked(rows, final, {**parts, "superseded": final - scores}, best)
