"""Nearest-neighbour search, compared with exhaustive scoring in float32."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.memory.records.arrays import Rows, Vectors
from assistant.memory.retrieval.vectors import vector_index
from assistant.memory.retrieval.vectors.vector_index import VectorIndex
from tests.support.encoders import unit_vectors
from tests.support.in_ram import held

DIMENSIONS = 96
ROUNDING = 0.005
"""The largest error of a cosine rounded to 8 bits, at this number of dimensions."""


def unit(count: int, seed: int = 1, dimensions: int = DIMENSIONS) -> Vectors:
    return unit_vectors(count, dimensions, seed)


def near(vector: NDArray[np.float32], count: int, seed: int = 9) -> Vectors:
    """Vectors at cosines from 0.95 down to about 0.4, in random order."""
    chance = np.random.default_rng(seed)
    shares = chance.permutation(np.linspace(0.3, 2.2, count))[:, np.newaxis]
    mixed = vector + shares * unit(count, seed, len(vector))
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def index(given: Vectors, **options: int) -> VectorIndex:
    made = VectorIndex(given.shape[1], **options)
    made.add(given)
    return made


def little_room(monkeypatch: pytest.MonkeyPatch, rows: int = 64) -> None:
    monkeypatch.setattr(vector_index, "ROOM", rows)


class TestSearch:
    @pytest.mark.parametrize("dimensions", [64, 96, 100, 384, 768])
    @pytest.mark.parametrize("room", [64, vector_index.ROOM])
    def test_the_nearest_are_found_in_order(
        self, dimensions: int, room: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        little_room(monkeypatch, room)
        query = unit(1, 7, dimensions)[0]
        given = np.concatenate([near(query, 20), unit(700, 1, dimensions)])
        given = given[np.random.default_rng(3).permutation(len(given))]
        rows, cosines = index(given, rescored=300).search(query, 10)
        exact = given @ query
        assert cosines == pytest.approx(exact[rows], abs=ROUNDING)
        assert set(rows[:5]) <= set(np.argsort(-exact)[:8])
        assert (np.diff(cosines) <= 0).all()
        assert rows.dtype == np.int64
        assert cosines.dtype == np.float32

    @pytest.mark.parametrize("count", [0, 1, 40])
    def test_few_rows_are_all_scored(self, count: int) -> None:
        given, query = unit(count), unit(1, 7)[0]
        rows, cosines = index(given).search(query, 100)
        assert sorted(rows) == list(range(count))
        assert cosines == pytest.approx((given @ query)[rows], abs=ROUNDING)

    def test_the_first_pass_selects_the_rows_with_the_most_signs_in_common(self) -> None:
        given, query = unit(500), unit(1, 7)[0]
        rows, _ = index(given, rescored=50).search(query, 50)
        common = ((given > 0) == (query > 0)).sum(axis=1)
        assert len(set(rows)) == 50
        assert common[rows].min() >= np.sort(common)[-50]

    def test_opposite_vectors_are_the_farthest(self) -> None:
        query = unit(1, 7, 384)[0]
        given = np.concatenate([unit(50, 1, 384), np.repeat(-query[np.newaxis], 100, axis=0)])
        rows, _ = index(given, rescored=50).search(query, 50)
        assert sorted(rows) == list(range(50))

    def test_the_newest_of_equal_rows_are_scored(self) -> None:
        rows, _ = index(np.repeat(unit(1), 300, axis=0), rescored=20).search(unit(1)[0], 20)
        assert sorted(rows) == list(range(280, 300))

    def test_more_rows_are_scored_if_more_are_wanted(self) -> None:
        rows, _ = index(unit(300), rescored=10).search(unit(1, 7)[0], 200)
        assert len(set(rows)) == 200

    def test_the_cosines_of_chosen_rows_are_computed(self) -> None:
        given, query = unit(100), unit(1, 7)[0]
        made = index(given)
        made.add_without(1)
        made.set_hot([5], lambda rows: given[rows])
        cosines = made.cosines(query, [99, 5, 100, 5])
        assert np.isnan(cosines).tolist() == [False, False, True, False]
        assert cosines[[0, 1, 3]] == pytest.approx((given @ query)[[99, 5, 5]], abs=0.005)
        assert cosines[1] == pytest.approx(given[5] @ query, abs=1e-6)
        assert made.cosines(query, []).shape == (0,)

    def test_vectors_of_zeros_are_found_with_a_cosine_of_zero(self) -> None:
        rows, cosines = index(np.zeros((3, DIMENSIONS), np.float32)).search(unit(1)[0], 3)
        assert sorted(rows) == [0, 1, 2]
        assert not cosines.any()


class TestChanges:
    def test_rows_without_a_vector_are_never_found(self) -> None:
        given = unit(30)
        given[[3, 4]] = np.nan
        given[5, 7] = np.inf
        made = index(given)
        made.add_without(2)
        without = [3, 4, 5, 30, 31]
        rows, _ = made.search(unit(1, 7)[0], 100)
        assert sorted(rows) == [row for row in range(30) if row not in without]
        assert made.has(range(32)).tolist() == [row not in without for row in range(32)]
        made.replace(without, unit(5, 8))
        assert made.has(without).all()
        assert made.search(unit(5, 8)[4], 1)[0].tolist() == [31]

    @pytest.mark.parametrize("hot", [False, True])
    def test_a_removed_vector_is_overwritten(self, hot: bool) -> None:
        given = unit(200)
        made = VectorIndex(DIMENSIONS, rescored=50)
        made.add(given)
        made.set_hot(range(200 * hot), lambda rows: given[rows])
        codes = made._quantized.codes[:200].copy()
        signs = made._quantized.signs[:, :200].copy()
        gone = [0, 77, 199]
        for row in gone:
            assert (given[row].tobytes() in held(made)) is hot
            assert codes[row].tobytes() in held(made)
        made.remove(gone)
        for row in gone:
            assert given[row].tobytes() not in held(made)
            assert codes[row].tobytes() not in held(made)
            assert not (made._quantized.signs == signs[:, [row]]).all(axis=0).any()
            assert row not in made.search(given[row], 200)[0]
            assert np.isnan(made.cosines(given[row], [row])).all()
        assert not made._quantized.scales[gone].any()
        assert made.search(given[5], 1)[0].tolist() == [5]
        assert len(made) == 200
        assert made.hot.tolist() == [] or not set(made.hot) & set(gone)

    def test_a_replaced_vector_is_gone_and_the_new_one_is_found(self) -> None:
        given, new = unit(200), unit(2, 8)
        made = index(given, rescored=50)
        made.set_hot([10, 11, 12], lambda rows: given[rows])
        made.replace([10, 50], new)
        assert made.search(new[0], 1)[0].tolist() == [10]
        assert made.search(new[1], 1)[0].tolist() == [50]
        assert made.search(given[10], 1)[1][0] < 0.9
        assert given[10].tobytes() not in held(made)
        assert sorted(made.hot) == [11, 12]
        made.replace([50], np.full((1, DIMENSIONS), np.nan))
        assert not made.has([50])[0]

    def test_an_index_grows_with_its_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        little_room(monkeypatch)
        monkeypatch.setattr(vector_index, "BATCH", 50)
        given, made = unit(500), VectorIndex(DIMENSIONS)
        for start in range(0, 500, 100):
            made.add(given[start : start + 100])
        assert len(made) == 500
        assert len(made._quantized) == 512
        assert made.search(given[499], 1)[0].tolist() == [499]
        exact = np.arange(0, 500, 7)
        assert made.cosines(given[7], exact) == pytest.approx(given[exact] @ given[7], abs=ROUNDING)

    def test_rounded_vectors_can_be_read(self) -> None:
        given = unit(3)
        made = index(given)
        made.add_without(1)
        made.remove([1])
        about = made.about([2, 0, 1, 3])
        assert np.abs(about[:2] - given[[2, 0]]).max() < ROUNDING
        assert not about[2:].any()

    def test_wrong_shapes_and_rows_are_refused(self) -> None:
        made = index(unit(3))
        with pytest.raises(ValueError, match=r"\(1, 5\), not \(n, 96\)"):
            made.add(np.zeros((1, 5)))
        with pytest.raises(ValueError, match=r"not \(n, 96\)"):
            made.search(np.zeros(5), 1)
        with pytest.raises(ValueError, match="2 rows with 1 vectors"):
            made.replace([0, 1], unit(1))
        for rows in ([3], [-1]):
            with pytest.raises(IndexError, match="rows 0 to 2"):
                made.remove(rows)
        assert made.has([0, 1, 2]).all()

    def test_searching_continues_while_another_thread_changes_rows(self) -> None:
        given, made = unit(600), VectorIndex(DIMENSIONS, rescored=32)

        def change() -> None:
            for start in range(0, 600, 20):
                made.add(given[start : start + 20])
                made.remove([start])
                made.set_hot([start + 1, start + 2], lambda rows: given[rows])

        with ThreadPoolExecutor(1) as pool:
            changing = pool.submit(change)
            while not changing.done():
                rows, cosines = made.search(given[1], 5)
                assert cosines == pytest.approx((given @ given[1])[rows], abs=ROUNDING)
        changing.result()
        assert sorted(made.hot) == [581, 582]
        found = [int(made.search(given[row], 1)[0][0]) for row in range(1, 600, 20)]
        assert found == list(range(1, 600, 20))


class TestHotTier:
    def test_hot_rows_are_exact_and_never_missed(self) -> None:
        given = unit(400)
        made = index(given, rescored=5)
        made.set_hot(range(0, 400, 2), lambda rows: given[rows])
        query = unit(1, 7)[0]
        rows, cosines = made.search(query, 100)
        exact = given @ query
        hot = rows % 2 == 0
        best = np.argsort(-exact[::2])[: hot.sum()] * 2
        assert rows[hot].tolist() == best.tolist()
        assert cosines[hot] == pytest.approx(exact[rows[hot]], abs=1e-6)
        assert len(set(rows)) == 100

    def test_rows_without_a_vector_do_not_become_hot(self) -> None:
        made = index(unit(3))
        made.add_without(1)
        made.remove([0])
        made.set_hot([0, 1, 3], lambda rows: unit(3)[rows])
        assert made.hot.tolist() == [1]

    def test_reading_hot_vectors_does_not_overwrite_rows_that_change_meanwhile(self) -> None:
        given, new, made = unit(10), unit(1, 8), index(unit(10))

        def read(rows: Rows) -> Vectors:
            made.remove([1])
            made.replace([2], new)
            return given[rows]

        made.set_hot([1, 2, 4], read)
        assert sorted(made.hot) == [4]
        assert not made.has([1])[0]
        assert 1 not in made.search(given[1], 10)[0]
        assert made.search(new[0], 1)[0].tolist() == [2]
        assert given[1].tobytes() not in held(made)

    def test_freed_places_are_reused(self) -> None:
        given, made = unit(20), VectorIndex(DIMENSIONS)
        made.add(given)
        made.set_hot(range(20), lambda rows: given[rows])
        for row in (19, 0, 10):
            made.remove([row])
        made.replace([0], given[:1])
        made.set_hot(range(20), lambda rows: given[rows])
        left: Sequence[int] = [row for row in range(20) if row not in (19, 10)]
        assert sorted(made.hot) == left
        query = unit(1, 7)[0]
        rows, cosines = made.search(query, 20)
        assert sorted(rows) == left
        assert cosines == pytest.approx((given @ query)[rows], abs=1e-6)
