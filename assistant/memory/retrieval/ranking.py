"""Ranks memories for a question by arithmetic on arrays.

A memory's score is a sum, so that each part can be shown. The part for matching words grows faster
than the evidence, and shrinks with the number of memories that have as much evidence. So a memory
that contains most of the question's rare words gains a lot. A memory that shares a single such word
with the question, like many others, gains hardly anything. The same weights therefore suit both
questions that repeat a memory's words and questions that paraphrase it.

The meaning of a turn depends on its context. So each turn gets a share of the evidence of adjacent
turns, most of it from the turn just before, which is often the question it answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.arrays import NONE, Places, Values, places


@dataclass(frozen=True, slots=True)
class Ranking:
    """The weights of the parts of a score, relative to the cosine's weight of 1. A part that is
    equal for all memories doesn't affect their order.

    The weights of the evidence were tuned on two-person conversations together with paraphrased
    questions for facts; halving or doubling them loses little. The other weights decide between
    memories that match about equally well.
    """

    words: float = 2.0
    """Part of the score for full evidence (1) by words that no other memory contains."""
    words_power: float = 2.0
    """Exponent of the evidence by words. With 2, evidence of 0.5 gives a quarter of `words`."""
    words_common: float = 2.0
    """How much less the words count if other memories match at least as well. The words' part is
    divided by 1 + `words_common` * ln(n), where n is the number of such memories, including this
    one. With n = 10, about a sixth is left."""
    context: float = 0.5
    """Weight of a word that occurs in a memory's context, such as its date. A word in its text has
    weight 1."""
    words_before: float = 0.9
    """Share of the words' part that a turn gets from the turn just before it."""
    words_near: float = 0.7
    """Share of the words' part that a turn gets from the turn just after it, and from the one two
    before it."""
    meaning_near: float = 0.15
    """Weight of the cosines of the turns just before and after a turn. Only what exceeds the
    average cosine counts."""
    times: float = 0.4
    """Bonus for a memory that was said at the time that the question names, or mentions that time
    (`time_index`)."""
    dated: float = 0.1
    """Bonus for a memory that mentions any day, if the question asks when."""
    linked: float = 0.4
    """Bonus for a memory that names a person whom the question mentions by relation
    (`relation_index`). If several persons are known by that relation, each gets an equal share."""
    speaker: float = 0.3
    """Bonus for a turn of the speaker whom the question is about."""
    statement: float = 0.2
    """Bonus for a turn that states something at length. Greetings, exclamations and questions say
    little."""
    asked: float = 0.25
    """Penalty for a turn in which the user only asked a question. Such a turn contains no
    information, but resembles other questions most."""
    answered: float = 0.4
    """Penalty for what the assistant said, unless the question asks for that. Even answers that say
    nothing else repeat the words of the question, and so resemble it more than the user's
    statements do."""
    statement_words: float = 5.0
    """Number of words outside of questions at which a turn gets half of the `statement` bonus."""
    importance: float = 0.1
    """Difference in score between importance 0 and importance 1."""
    confidence: float = 0.1
    """Difference in score between confidence 0 and confidence 1."""
    recency: float = 0.02
    """Bonus for a memory said just now. It halves every `recency_days`."""
    recency_days: float = 30.0
    use: float = 0.02
    """Bonus for each doubling of the number of uses. After the last use it fades like `recency`."""
    most_uses: int = 7
    """Maximum number of uses that count. Otherwise, memories that are often used would be used ever
    more often."""
    feedback: float = 0.05
    """Bonus for each time the user rated the memory as rightly recalled. A rating as wrongly
    recalled subtracts the same amount."""
    most_feedback: int = 4
    """Maximum number of ratings that count, in either direction."""
    pinned: float = 0.05
    superseded: float = 0.1
    """Penalty for a superseded memory. If the memory that supersedes it is found too, the
    superseded one always ranks below it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How well each candidate matches the question. `cosine` is its cosine with the question's
    vector. `own` and `context` are its evidence from `LexicalIndex`, each in [0, 1).

    If the question has no vector, all cosines are 0. A memory without a vector has cosine NaN,
    which counts as the average cosine.
    """

    cosine: Values
    own: Values
    context: Values
    speaker: str | None = None
    """The speaker whom the question is about (`question.read_question`)."""
    times: Values | None = None
    """How close each memory is to the time that the question names, in [0, 1]; None if it names
    none."""
    dated: Values | None = None
    """1 for a memory that mentions a day, else 0; None unless the question asks when."""
    linked: Values | None = None
    """For a memory that names a person whom the question mentions by relation, 1 divided by the
    number of persons who may be meant; 0 for all others."""


class Neighbours(NamedTuple):
    """For each candidate, the positions of the turns just before and just after it, or `NONE`."""

    before: Places
    after: Places


@dataclass(frozen=True, slots=True)
class Features:
    """Properties of each candidate that don't depend on the question."""

    age_days: Values
    unused_days: Values
    """Days since the memory was last used, or since its creation if it was never used."""
    importance: Values
    confidence: Values
    uses: Values
    feedback: Values
    pinned: NDArray[np.bool_]
    superseded: NDArray[np.bool_]
    speakers: Sequence[str] | NDArray[np.object_]
    statement: Values
    """Number of words that are not part of a question (`sentences.stated`)."""
    asks: NDArray[np.bool_]
    """Whether the memory contains a question."""
    successor: Places | None = None
    """Position of the candidate that supersedes this one, or `NONE`."""
    lift: Values | None = None
    """Bonus of each row in a recap (`recap`)."""


Parts = Mapping[str, Values]
"""The parts of all scores by name. Their sum is the score."""


def fuse(
    evidence: Evidence, neighbours: Neighbours, features: Features, weights: Ranking
) -> tuple[Values, Parts]:
    """Return the scores of all candidates, and the parts that add up to them. The order of the
    candidates has no influence. Takes about 0.2 ms for 1,000 candidates."""
    cosine = _filled(evidence.cosine)
    words = _by_words(evidence.own + weights.context * evidence.context, weights)
    parts = {
        "meaning": cosine,
        "words": words,
        "around": _around(cosine, words, neighbours, evidence.speaker, features, weights),
        "time": _known(weights.times, evidence.times, len(cosine))
        + _known(weights.dated, evidence.dated, len(cosine)),
        "linked": _known(weights.linked, evidence.linked, len(cosine)),
        "speaker": weights.speaker * _spoken_by(evidence.speaker, features.speakers),
        "statement": _statement(features, weights),
        "asked": _asked(features, weights),
        "answered": _answered(evidence.speaker, features, weights),
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
    """Return the words' part of each score. It shrinks with the number of candidates that match at
    least as well: a word that is rare in general says little if many candidates contain it."""
    words = np.zeros(len(evidence))
    matching = np.flatnonzero(evidence > 0)  # usually a fifth of them; powers are slow
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
    speaker: str | None,
    features: Features,
    weights: Ranking,
) -> Values:
    """Return the part of each score that comes from adjacent turns by other speakers.

    An adjacent turn by the same speaker doesn't count, as it may be about anything. Only the part
    of a cosine that exceeds the average counts: lower cosines say nothing, and a memory without
    neighbours must not rank lower for that reason. The assistant's turns count for the user's turns
    only if they ask something; otherwise, they repeat what the user asked. For the same reason, the
    user's turns count for the assistant's only if the question asks what the assistant said.
    """
    said = np.asarray(features.speakers, np.object_)
    own = said == ASSISTANT
    silent = np.append(own & ~features.asks, False)
    before, after = (
        np.where((said[places] == said) | silent[places], NONE, places)
        for places in (neighbours.before, neighbours.after)
    )
    # Indexing with `NONE` (-1) reads the last entry, which is added here.
    before_each = np.append(before, NONE)
    words = np.append(words, 0.0)
    above = np.append(np.maximum(0.0, cosine - mean_cosine(cosine)), 0.0)
    around = (
        weights.words_before * words[before]
        + weights.words_near * (words[after] + words[before_each[before]])
        + weights.meaning_near * (above[before] + above[after])
    )
    return np.asarray(around if speaker == ASSISTANT else np.where(own, 0.0, around))


def _statement(features: Features, weights: Ranking) -> Values:
    words = features.statement
    return weights.statement * words / (words + weights.statement_words)


def _asked(features: Features, weights: Ranking) -> Values:
    own = np.asarray(features.speakers, np.object_) == USER
    return np.asarray(-weights.asked * (own & (features.statement == 0)), np.float64)


def _answered(speaker: str | None, features: Features, weights: Ranking) -> Values:
    if speaker == ASSISTANT:
        return np.zeros(len(features.statement))
    own = np.asarray(features.speakers, np.object_) == ASSISTANT
    return np.asarray(-weights.answered * own, np.float64)


def _faded(days: Values, weights: Ranking) -> Values:
    # Dates in the future, after a clock was set back, count as new.
    return np.asarray(np.exp2(-np.maximum(days, 0.0) / weights.recency_days))


def _superseded(scores: Values, features: Features, weights: Ranking) -> Values:
    """Subtract the penalty from superseded memories, and rank each below the memory that supersedes
    it.

    The superseding memory gets at least the score of the superseded one. E.g. a user who asks where
    they live may use the words of an earlier address, and still needs the new one.
    """
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


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates to rank for a query. All arrays are in the order of `rows`, which is
    ascending."""

    rows: Places
    evidence: Evidence
    before: Places
    after: Places
    """The rows said just before and after each candidate in the same conversation, or `NONE`."""
    features: Features


@dataclass(frozen=True, slots=True)
class Ranked:
    """A result and its reasons: `parts` add up to the score, and parts of 0 are left out."""

    row: int
    score: float
    parts: Mapping[str, float]


def rank(candidates: Candidates, weights: Ranking, k: int) -> list[Ranked]:
    """Return the k best candidates, best first. Equal candidates stay in order."""
    features, rows = candidates.features, candidates.rows
    neighbours = Neighbours(*places(rows, np.stack([candidates.before, candidates.after])))
    scores, parts = fuse(candidates.evidence, neighbours, features, weights)
    return _ranked(rows, scores, parts, np.argsort(-scores, kind="stable")[:k])


def _ranked(rows: Places, scores: Values, parts: Parts, best: Places) -> list[Ranked]:
    names, values = list(parts), np.stack([part[best] for part in parts.values()]).T.tolist()
    return [
        Ranked(row, score, {name: part for name, part in zip(names, each, strict=True) if part})
        for row, score, each in zip(rows[best].tolist(), scores[best].tolist(), values, strict=True)
    ]


def rank_in_brief(
    rows: Places, evidence: Evidence, features: Features, weights: Ranking, k: int
) -> list[Ranked]:
    """Return the k best candidates, best first. Of equal candidates, the newer one comes first. The
    scores have fewer parts than those of `rank`: mainly words and meaning. Takes a third of the
    time."""
    parts = {
        "meaning": _filled(evidence.cosine),
        "words": _by_words(evidence.own, weights),
        "statement": _statement(features, weights),
        "asked": _asked(features, weights),
        "answered": _answered(evidence.speaker, features, weights),
        "broad": np.zeros(len(rows)) if features.lift is None else features.lift,
    }
    scores = np.sum(list(parts.values()), axis=0)
    final = _superseded(scores, features, weights)
    best = np.lexsort((-rows, -final))[:k]
    return _ranked(rows, final, {**parts, "superseded": final - scores}, best)
