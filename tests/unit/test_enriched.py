"""Extra words and vectors of rows: which count, and what is left of them."""

import numpy as np
import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.document_expansion import (
    DocumentExpansion,
    Expansion,
    ExpansionWeights,
    fingerprint,
)

DIMENSIONS = 4
ALL = ExpansionWeights(1.0, 0.5, 1.0, 0.25)
UNIT = np.eye(DIMENSIONS, dtype=np.float32)
NOTHING = np.zeros(3, np.float32)


def extras(enrichment: ExpansionWeights = ALL) -> DocumentExpansion:
    """Row 0 is described by a heron and the second axis, and answers about ferries and the third;
    row 2 by a kettle, far from all that is asked."""
    made = DocumentExpansion(TextAnalyzer("en"), DIMENSIONS, enrichment)
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
    ("enrichment", "heron", "ferry", "second", "third"),
    [
        (ALL, True, True, 0.656, 0.531),
        (ExpansionWeights(describe_words=1.0), True, False, 0.5, 0.5),
        (ExpansionWeights(describe_meaning=0.8), False, False, 0.8, 0.4),
        (ExpansionWeights(expand_words=1.0), False, True, 0.5, 0.5),
        (ExpansionWeights(expand_meaning=0.8), False, False, 0.4, 0.8),
        (ExpansionWeights(), False, False, 0.5, 0.5),
    ],
)
def test_each_part_counts_alone(
    enrichment: ExpansionWeights, heron: bool, ferry: bool, second: float, third: float
) -> None:
    made = extras(enrichment)
    assert bool(made.words("heron", NOTHING)[0]) is heron
    assert bool(made.words("ferry", NOTHING)[0]) is ferry
    assert cosines(made, 1)[0] == pytest.approx(second, abs=0.01)
    assert cosines(made, 2)[0] == pytest.approx(third, abs=0.01)
    assert np.isnan(cosines(made, 1)[1])


def test_what_is_near_by_a_question_comes_up() -> None:
    assert near(extras(), 2) == [0]
    assert near(extras(ExpansionWeights(describe_words=1.0)), 2) == []


def test_words_add_to_what_was_said() -> None:
    own = np.array([0.25, 0.5, 0.0], np.float32)
    found = extras().words("heron", own)
    assert found[0] > 0.25
    assert found[1:].tolist() == [0.5, 0.0]
    assert own.tolist() == [0.25, 0.5, 0.0]


def test_what_rests_on_veiled_exchanges_does_not_count_until_they_are_not() -> None:
    made = extras()
    for _ in range(2):
        made.hide(["before", "elsewhere"])
    assert made.words("heron ferry", NOTHING).tolist() == [0, 0, 0]
    assert made.words("kettle", NOTHING)[2] > 0
    assert (near(made, 1), cosines(made, 1)[0]) == ([], 0.5)
    made.hide(["one"])
    assert not made.words("heron", NOTHING).any()
    made.hide([])
    assert made.words("heron", NOTHING)[0] > 0
    assert cosines(made, 1)[0] == pytest.approx(0.656, abs=0.01)


def test_what_comes_while_it_is_veiled_is_too() -> None:
    made = DocumentExpansion(TextAnalyzer("en"), DIMENSIONS, ALL)
    made.hide(["one"])
    made.put({0: Expansion("", "a heron", (), UNIT[1:2], ("one",))})
    assert not made.words("heron", NOTHING).any()
    made.hide([])
    assert made.words("heron", NOTHING)[0] > 0


def test_of_what_is_veiled_nothing_is_left_after_a_purge() -> None:
    made = extras()
    made.hide(["before"])
    made.delete_hidden()
    made.purge()
    made.hide([])
    assert len(made) == 1
    assert not made.words("heron ferry", NOTHING).any()
    assert cosines(made, 1)[0] == 0.5
    assert not made._vectors.about([0, 1]).any()
    assert "heron" not in made._words._fields[0].segment.columns


def test_others_take_their_place() -> None:
    made = extras()
    made.put({0: Expansion("", "an owl", (), UNIT[3:], ("one",))})
    assert not made.words("heron ferry", NOTHING).any()
    assert made.words("owl", NOTHING)[0] > 0
    assert cosines(made, 1)[0] == pytest.approx(0.4375, abs=0.01)
    assert cosines(made, 3)[0] == pytest.approx(0.6875, abs=0.01)
    made.remove([0, 1, 7])
    assert not made.words("owl", NOTHING).any()


def test_a_tidied_index_finds_the_same() -> None:
    made = extras()
    before = made.words("a heron or a kettle", NOTHING).tolist()
    made.tidy()
    assert made.words("a heron or a kettle", NOTHING).tolist() == pytest.approx(before)


def test_a_row_without_a_vector_has_that_of_what_was_made_of_it() -> None:
    made = extras()
    made.put({1: Expansion("", "an owl", ("who?",), UNIT[2:], ("one",))})
    assert cosines(made, 2)[1] == pytest.approx(1, abs=0.01)
    assert cosines(made, 1)[1] == pytest.approx(0, abs=0.01)


def test_it_fits_the_text_that_it_was_made_of() -> None:
    made = Expansion(fingerprint("a"), "", (), UNIT[:0], ())
    assert (made.fits("a"), made.fits("b"), made.fits("\ud800")) == (True, False, False)
