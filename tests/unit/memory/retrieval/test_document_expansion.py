"""Vectors of descriptions and questions: when they count, and that deletion leaves none."""

import numpy as np
import pytest

from assistant.memory.retrieval.document_expansion import (
    DocumentExpansion,
    Expansion,
    ExpansionWeights,
    fingerprint,
)

DIMENSIONS = 4
BOTH = ExpansionWeights(0.5, 0.25)
UNIT = np.eye(DIMENSIONS, dtype=np.float32)


def expanded(weights: ExpansionWeights = BOTH) -> DocumentExpansion:
    """The description of row 0 lies on the second axis, its question on the third; both of row 2
    lie on the first."""
    made = DocumentExpansion(DIMENSIONS, weights)
    heron = Expansion("", "a heron", ("which ferry?",), UNIT[1:3], ("one", "before"))
    made.put({0: heron, 2: Expansion("", "a kettle", ("hot?",), UNIT[[0, 0]], ("two",))})
    return made


def cosines(of: DocumentExpansion, axis: int) -> list[float]:
    own = np.array([0.5, np.nan, 0.25], np.float32)
    found = of.cosines(UNIT[axis], np.array([0, 1, 2]), own)
    return [round(float(each), 2) for each in found]


def near(of: DocumentExpansion, axis: int) -> list[int]:
    return [int(row) for row in of.near(UNIT[axis], 1)]


@pytest.mark.parametrize(
    ("weights", "second", "third"),
    [
        (BOTH, 0.656, 0.531),
        (ExpansionWeights(describe_meaning=0.8), 0.8, 0.4),
        (ExpansionWeights(expand_meaning=0.8), 0.4, 0.8),
        (ExpansionWeights(), 0.5, 0.5),
    ],
)
def test_descriptions_and_questions_are_weighted_separately(
    weights: ExpansionWeights, second: float, third: float
) -> None:
    made = expanded(weights)
    assert cosines(made, 1)[0] == pytest.approx(second, abs=0.01)
    assert cosines(made, 2)[0] == pytest.approx(third, abs=0.01)
    assert np.isnan(cosines(made, 1)[1])
    if weights.expand_meaning:
        assert near(made, 2) == [0]


def test_an_expansion_counts_only_while_its_sources_are_not_hidden() -> None:
    made = expanded()
    for _ in range(2):
        made.hide(["before", "elsewhere"])
    assert (near(made, 1), cosines(made, 1)[0]) == ([], 0.5)
    assert near(made, 0) == [2]
    made.hide(["one"])
    assert near(made, 1) == []
    made.hide([])
    assert cosines(made, 1)[0] == pytest.approx(0.656, abs=0.01)


def test_an_expansion_added_while_its_source_is_hidden_is_hidden_too() -> None:
    made = DocumentExpansion(DIMENSIONS, BOTH)
    made.hide(["one"])
    made.put({0: Expansion("", "a heron", (), UNIT[1:2], ("one",))})
    assert near(made, 1) == []
    made.hide([])
    assert near(made, 1) == [0]


def test_nothing_is_left_of_a_deleted_expansion() -> None:
    made = expanded()
    made.hide(["before"])
    made.delete_hidden()
    made.hide([])
    assert len(made) == 1
    assert cosines(made, 1)[0] == 0.5
    assert not made._vectors.about([0, 1]).any()


def test_an_expansion_is_replaced_and_removed() -> None:
    made = expanded()
    made.put({0: Expansion("", "an owl", (), UNIT[3:], ("one",))})
    assert cosines(made, 1)[0] == pytest.approx(0.4375, abs=0.01)
    assert cosines(made, 3)[0] == pytest.approx(0.6875, abs=0.01)
    made.remove([0, 1, 7])
    assert cosines(made, 3)[0] == 0.5


def test_a_row_without_a_vector_is_scored_by_its_expansion() -> None:
    made = expanded()
    made.put({1: Expansion("", "an owl", ("who?",), UNIT[2:], ("one",))})
    assert cosines(made, 2)[1] == pytest.approx(1, abs=0.01)
    assert cosines(made, 1)[1] == pytest.approx(0, abs=0.01)


def test_an_expansion_fits_only_the_text_it_was_derived_from() -> None:
    made = Expansion(fingerprint("a"))
    assert (made.fits("a"), made.fits("b"), made.fits("\ud800")) == (True, False, False)
