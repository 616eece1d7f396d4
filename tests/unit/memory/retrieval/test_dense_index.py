"""Vectors of two encoders: which of them are used, and what a question finds with both."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.memory.retrieval.vectors.dense_index import (
    FEWEST_TO_SCALE,
    STRONGER,
    DenseIndex,
    QueryVectors,
    blended,
)
from tests.support.encoders import unit_vectors

QUICK, OTHER = 16, 24


def filled(count: int, strong: int) -> tuple[DenseIndex, NDArray[np.float32], NDArray[np.float32]]:
    """An index of `count` rows, of which the first `strong` have the vectors of both encoders."""
    quick, other = unit_vectors(count, QUICK, 1), unit_vectors(count, OTHER, 2)
    dense = DenseIndex(QUICK)
    dense.add(quick)
    dense.attach(OTHER)
    dense.replace(list(range(strong)), other[:strong], stronger=True)
    return dense, quick, other


def test_the_stronger_encoder_is_used_once_half_the_rows_have_its_vector() -> None:
    dense, quick, other = filled(10, 4)
    meaning = QueryVectors(quick[9], other[0])
    before = dense.serves
    assert dense.usable(meaning).stronger is None
    assert dense.lacking(3) == [9, 8, 7]
    dense.replace([9], other[9:], stronger=True)
    assert (before, dense.serves) == (False, True)
    assert dense.usable(meaning).stronger is not None
    assert dense.missing == 5


def test_each_row_is_found_by_the_vector_it_has() -> None:
    dense, quick, other = filled(300, 200)
    found = set(dense.near(QueryVectors(quick[250], other[100]), 5).tolist())
    assert {100, 250} <= found
    assert len(found) == 10
    assert 250 not in dense.near(QueryVectors(None, other[100]), 5)
    cosines = dense.cosines(QueryVectors(quick[250], other[100]), np.arange(300))
    assert np.isfinite(cosines).all()
    assert int(cosines[:200].argmax()) == 100
    assert int(cosines[200:].argmax()) == 50
    assert np.isnan(dense.cosines(QueryVectors(None, other[100]), np.arange(300))[250])


def test_rows_that_lack_a_stronger_vector_are_tracked() -> None:
    dense, quick, other = filled(6, 6)
    assert dense.missing == 0
    dense.add(quick[:2])
    dense.add_without(1)
    assert dense.lacking(9) == [7, 6]
    dense.replace([8], quick[:1])
    assert dense.lacking(9) == [8, 7, 6]
    dense.replace([8], other[:1], stronger=True)
    dense.remove([7, 0, 8])  # of these rows, only 7 lacks a stronger vector
    assert dense.lacking(9) == [6]
    rows = np.arange(9)
    for vectors in dense.encoders:
        assert not vectors.has(rows)[[0, 7, 8]].any()
    found = dense.near(QueryVectors(quick[0], other[0]), 9)
    assert set(found.tolist()) == {1, 2, 3, 4, 5, 6}


def test_cosines_are_blended_and_missing_ones_are_estimated() -> None:
    quick = np.linspace(0.1, 0.9, 30, dtype=np.float32)
    other = quick * np.float32(0.5)
    both = blended(quick, other)
    np.testing.assert_allclose(both, STRONGER * other + (1 - STRONGER) * quick, atol=1e-6)
    lacking = other.copy()
    lacking[[3, 29]] = np.nan
    np.testing.assert_allclose(blended(quick, lacking), both, atol=0.01)
    alone = quick.copy()
    alone[5] = np.nan
    assert blended(alone, other)[5] == pytest.approx(other[5])


def test_nothing_is_estimated_from_too_few_rows_with_both_cosines() -> None:
    quick = np.linspace(0.1, 0.9, FEWEST_TO_SCALE, dtype=np.float32)
    other = quick * np.float32(0.5)
    other[-1] = np.nan
    assert blended(quick, other)[-1] == pytest.approx(quick[-1])
