"""Ranking memories by the evidence for them."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.arrays import NONE, places
from assistant.memory.retrieval.ranking import (
    Candidates,
    Evidence,
    Features,
    Neighbours,
    Ranking,
    fuse,
    rank,
)
from assistant.memory.retrieval.search import to_be_ranked

PLAIN = Ranking()


def features(count: int, **given: Any) -> Features:
    """The features of memories that differ only in the given values."""
    plain: dict[str, Any] = {
        "age_days": np.ones(count),
        "unused_days": np.ones(count),
        "importance": np.full(count, 0.5),
        "confidence": np.ones(count),
        "uses": np.zeros(count),
        "feedback": np.zeros(count),
        "pinned": np.zeros(count, np.bool_),
        "superseded": np.zeros(count, np.bool_),
        "speakers": ["user"] * count,
        "statement": np.full(count, 5.0),
        "asks": np.zeros(count, np.bool_),
    }
    return Features(**{**plain, **given})


def evidence(cosine: list[float], own: list[float] | None = None, **given: Any) -> Evidence:
    zeros = np.zeros(len(cosine))
    return Evidence(np.array(cosine), zeros if own is None else np.array(own), zeros, **given)


def alone(count: int) -> Neighbours:
    return Neighbours(np.full(count, NONE), np.full(count, NONE))


def scores(given: Evidence, weights: Ranking = PLAIN, **known: Any) -> np.ndarray:
    count = len(given.cosine)
    return fuse(given, alone(count), features(count, **known), weights)[0]


def drawn(draw: np.random.Generator, count: int, **given: Any) -> tuple[Evidence, Features]:
    """Random evidence and features of all kinds."""
    known = features(
        count,
        age_days=draw.uniform(0, 900, count),
        unused_days=draw.uniform(0, 900, count),
        importance=draw.random(count),
        confidence=draw.random(count),
        uses=draw.integers(0, 40, count).astype(float),
        feedback=draw.integers(-9, 9, count).astype(float),
        pinned=draw.random(count) < 0.3,
        superseded=draw.random(count) < 0.3,
        speakers=draw.choice(["user", "assistant", "Ann"], count).tolist(),
        statement=draw.integers(0, 9, count).astype(float),
        asks=draw.random(count) < 0.3,
        **given,
    )
    cosine, own, context, *clues = draw.random((6, count))
    return Evidence(cosine, own, context, "Ann", *clues), known


def test_parts_add_up_to_the_scores() -> None:
    draw, count = np.random.default_rng(1), 300
    around = [draw.integers(-1, count, count) for _ in range(2)]
    successor = np.where(draw.random(count) < 0.1, draw.integers(0, count, count), NONE)
    given, known = drawn(draw, count, successor=successor, lift=draw.random(count))
    total, parts = fuse(given, Neighbours(*around), known, PLAIN)
    np.testing.assert_allclose(np.sum(list(parts.values()), axis=0), total)
    assert all(np.any(part) for part in parts.values())
    assert np.isfinite(total).all()


@pytest.mark.parametrize(
    "known",
    [
        {"importance": np.full(3, 0.9)},
        {"confidence": np.full(3, 0.4)},
        {"age_days": np.full(3, 400.0), "unused_days": np.full(3, 400.0)},
        {"uses": np.full(3, 12.0)},
        {"feedback": np.full(3, -2.0)},
        {"pinned": np.ones(3, np.bool_)},
        {"superseded": np.ones(3, np.bool_)},
        {"statement": np.full(3, 9.0)},
        {"speakers": ["Ann"] * 3},
    ],
    ids=lambda known: next(iter(known)),
)
def test_a_feature_that_is_the_same_for_all_does_not_change_the_order(
    known: dict[str, Any],
) -> None:
    given = evidence([0.30, 0.31, 0.29], [0.1, 0.0, 0.12], speaker="Ann")
    plain, changed = scores(given), scores(given, **known)
    np.testing.assert_array_equal(np.argsort(plain), np.argsort(changed))
    np.testing.assert_allclose(np.diff(plain), np.diff(changed), atol=1e-12)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"importance": 0.9}, {"importance": 0.1}),
        ({"confidence": 1.0}, {"confidence": 0.3}),
        ({"age_days": 1.0}, {"age_days": 300.0}),
        ({"uses": 6.0}, {"uses": 0.0}),
        ({"uses": 6.0, "unused_days": 2.0}, {"uses": 6.0, "unused_days": 300.0}),
        ({"feedback": 1.0}, {"feedback": 0.0}),
        ({"feedback": 0.0}, {"feedback": -1.0}),
        ({"pinned": True}, {"pinned": False}),
        ({"superseded": False}, {"superseded": True}),
        ({"statement": 20.0}, {"statement": 1.0}),
        ({"speakers": "Ann"}, {"speakers": "Bob"}),
    ],
)
def test_features_decide_among_equal_matches(better: dict[str, Any], worse: dict[str, Any]) -> None:
    known: dict[str, Any] = {
        name: [worse[name], value] if name == "speakers" else np.array([worse[name], value])
        for name, value in better.items()
    }
    low, high = scores(evidence([0.4, 0.4], speaker="Ann"), **known)
    assert high > low


def test_a_good_match_is_not_outweighed_by_use_and_age() -> None:
    known: dict[str, Any] = {"uses": np.array([1000.0, 0.0]), "age_days": np.array([0.0, 900.0])}
    often, fitting = scores(evidence([0.3, 0.5]), **known)
    assert fitting > often


def test_weak_word_evidence_does_not_outweigh_meaning_but_strong_evidence_does() -> None:
    common_word, paraphrase = scores(evidence([0.30, 0.45], [0.15, 0.0]))
    assert paraphrase > common_word
    all_words, alike = scores(evidence([0.30, 0.45], [0.5, 0.0]))
    assert all_words > alike


def test_a_match_that_many_memories_share_counts_little() -> None:
    cosine = [0.30] * 20 + [0.45]
    one_word = evidence(cosine, [0.4] * 20 + [0.0])
    assert np.argmax(scores(one_word)) == 20
    assert np.argmax(scores(one_word, replace(PLAIN, words_common=0.0))) != 20
    a_single_match = evidence(cosine, [0.4] + [0.0] * 20)
    assert np.argmax(scores(a_single_match)) == 0


def test_an_answer_gets_a_share_of_the_score_of_the_question_before_it() -> None:
    given = evidence([0.2, 0.2, 0.2], [0.4, 0.0, 0.0])
    chain = Neighbours(np.array([NONE, 0, NONE]), np.array([1, NONE, NONE]))
    spoken = features(3, speakers=[USER, "Ann", "Ann"])
    question, answer, stranger = fuse(given, chain, spoken, PLAIN)[0]
    assert question > answer > stranger
    _, next_of_the_same, stranger = fuse(given, chain, features(3), PLAIN)[0]
    assert next_of_the_same == stranger


def test_the_users_questions_are_ranked_below_statements() -> None:
    given = evidence([0.6, 0.5, 0.6])
    spoken = features(3, speakers=[USER, USER, "Ann"], statement=np.array([0.0, 6.0, 0.0]))
    asked, stated, by_ann = fuse(given, alone(3), spoken, PLAIN)[0]
    assert stated > by_ann > asked


def test_what_the_assistant_said_is_ranked_below_what_the_user_told() -> None:
    """Otherwise an evasion, which repeats the words of the question, is found instead of the
    fact when the same is asked again."""
    given = evidence([0.6, 0.7, 0.7], [0.4, 0.6, 0.5])
    chain = Neighbours(np.array([NONE, NONE, 1]), np.array([NONE, 2, NONE]))
    spoken = features(3, speakers=[USER, USER, ASSISTANT], statement=np.array([5.0, 0.0, 5.0]))
    told, _, evaded = fuse(given, chain, spoken, PLAIN)[0]
    assert told > evaded
    of_the_assistant = replace(given, speaker=ASSISTANT)
    told, _, evaded = fuse(of_the_assistant, chain, spoken, PLAIN)[0]
    assert evaded > told, "the question asks what the assistant said"


def test_a_turn_of_the_user_gets_a_share_of_what_the_assistant_asked_just_before() -> None:
    given = evidence([0.2, 0.2, 0.2, 0.2], [0.4, 0.0, 0.4, 0.0])
    chain = Neighbours(np.array([NONE, 0, NONE, 2]), np.array([1, NONE, 3, NONE]))
    spoken = features(
        4,
        speakers=[ASSISTANT, USER, ASSISTANT, USER],
        asks=np.array([True, False, False, False]),
    )
    parts = fuse(given, chain, spoken, PLAIN)[1]
    _, after_a_question, _, after_a_remark = parts["around"]
    assert after_a_question > 0
    assert after_a_remark == 0


def test_the_meaning_of_neighbours_counts_only_if_it_is_above_average() -> None:
    given = evidence([0.8, 0.3, 0.3, 0.1])
    chain = Neighbours(np.array([NONE, 0, 3, NONE]), np.array([1, NONE, NONE, 2]))
    spoken = features(4, speakers=[USER, "Ann", "Ann", USER])
    _, by_a_match, by_a_stranger, _ = fuse(given, chain, spoken, PLAIN)[0]
    assert by_a_match > by_a_stranger
    assert by_a_stranger == scores(given)[2]


def test_memories_without_a_vector_count_as_average() -> None:
    low, none, high = scores(evidence([0.1, np.nan, 0.5]))
    assert low < none < high
    assert np.isfinite(scores(evidence([np.nan, np.nan]))).all()


def test_a_chain_of_successors_is_ranked_newest_first() -> None:
    given = evidence([0.9, 0.2, 0.1, 0.5])
    known: dict[str, Any] = {
        "superseded": np.array([True, True, False, False]),
        "successor": np.array([1, 2, NONE, NONE]),
    }
    first, second, third, other = scores(given, **known)
    assert third > second > first > other
    circle: dict[str, Any] = {"superseded": np.ones(2, np.bool_), "successor": np.array([1, 0])}
    assert np.isfinite(scores(evidence([0.5, 0.4]), **circle)).all()


def test_ranking_reports_the_rows_and_the_parts_of_their_scores() -> None:
    rows = np.array([3, 7, 9])
    candidates = Candidates(
        rows=rows,
        evidence=Evidence(
            cosine=np.array([0.1, 0.2, 0.5]),
            own=np.array([0.0, 0.6, 0.0]),
            context=np.zeros(3),
            speaker="Ann",
        ),
        before=np.array([2, NONE, 7]),
        after=np.array([NONE, 9, 10]),
        features=features(3, speakers=["Bob", "Ann", "Bob"]),
    )
    best, second = rank(candidates, PLAIN, 2)
    assert (best.row, second.row) == (7, 9)
    assert best.parts["words"] == pytest.approx(PLAIN.words * 0.6**PLAIN.words_power)
    assert best.parts["speaker"] == PLAIN.speaker
    assert "speaker" not in second.parts
    assert second.parts["around"] > 0
    assert sum(best.parts.values()) == pytest.approx(best.score)


def test_candidates_are_the_best_by_words_and_by_meaning_and_the_turns_around_them() -> None:
    own = np.array([0.0, 0.5, 0.1, 0.4, 0.0, 0.0, 0.0])
    before = np.array([NONE, 0, NONE, NONE, 3, NONE, 5])
    after = np.array([1, NONE, NONE, 4, NONE, 6, NONE])
    rows = to_be_ranked(own, np.array([5]), before, after, 2)
    assert rows.tolist() == [0, 1, 3, 4, 5, 6]


def test_places_gives_the_positions_of_rows() -> None:
    rows = np.array([2, 5, 8])
    assert places(rows, np.array([8, 3, NONE, 2, 9])).tolist() == [2, NONE, NONE, 0, NONE]
    assert places(rows[:0], rows).tolist() == [NONE] * 3
    assert places(rows, np.array([[8, NONE], [2, 5]])).tolist() == [[2, NONE], [0, 1]]


def test_the_newest_of_equally_good_matches_become_candidates() -> None:
    own = np.array([0.3, 0.3, 0.5, 0.3, 0.3])
    alone = np.full(5, NONE)
    assert to_be_ranked(own, np.empty(0, np.int64), alone, alone, 3).tolist() == [2, 3, 4]


def test_every_weight_has_an_effect() -> None:
    """Changing any of the weights changes some score."""
    draw, count = np.random.default_rng(5), 40
    chain = Neighbours(np.arange(-1, count - 1), np.append(np.arange(1, count), NONE))
    given, known = drawn(draw, count)

    def outcome(weights: Ranking) -> tuple[float, ...]:
        return tuple(fuse(given, chain, known, weights)[0])

    for field in fields(Ranking):
        other = replace(PLAIN, **{field.name: type(getattr(PLAIN, field.name))(0.95) or 1})
        assert outcome(other) != outcome(PLAIN), field.name
