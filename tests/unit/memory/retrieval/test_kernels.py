"""Compiled loops find the same as NumPy."""

import logging
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.idle.jobs.compaction import FOLDED
from assistant.language.stemming import TextAnalyzer
from assistant.memory import index_sync
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.vectors import kernels, vector_index
from assistant.memory.retrieval.vectors.kernels import COMPILED, Compiled
from assistant.memory.retrieval.vectors.vector_index import VectorIndex
from assistant.memory.store.table import MemoryTable
from tests.support.encoders import unit_vectors
from tests.support.memories import memory
from tests.support.user_memory import opened_memory

Vectors = NDArray[np.float32]


@pytest.fixture(scope="module")
def loops() -> ModuleType:
    loaded = Compiled()
    loaded.load()
    assert loaded.loops is not None
    return loaded.loops


def both(
    monkeypatch: pytest.MonkeyPatch, loops: ModuleType, index: VectorIndex, query: Vectors, k: int
) -> list[tuple[list[int], list[float]]]:
    """The results without and with the compiled loops."""
    found = []
    for each in (None, loops):
        monkeypatch.setattr(COMPILED, "loops", each)
        rows, cosines = index.search(query, k)
        found.append((rows.tolist(), cosines.tolist()))
    return found


@pytest.mark.parametrize("dimensions", [384, 768, 100])
def test_the_nearest_rows_are_the_same(
    monkeypatch: pytest.MonkeyPatch, loops: ModuleType, dimensions: int
) -> None:
    monkeypatch.setattr(vector_index, "ROOM", 1_000)
    index = VectorIndex(dimensions, rescored=200)
    index.add(unit_vectors(2_700, dimensions))
    index.add_without(50)
    index.remove(list(range(100, 400)))
    exact = unit_vectors(2, dimensions, seed=9)
    index.replace([5, 6], exact)
    index.set_hot([5, 6], lambda _: exact)
    index.set_warm([1_500, 7])

    for query in unit_vectors(20, dimensions, seed=2):
        query.flags.writeable = False  # read-only, as the vectors of questions are
        plain, kernels = both(monkeypatch, loops, index, query, 10)
        assert kernels[0] == plain[0]
        assert kernels[1] == pytest.approx(plain[1], abs=1e-5)


@pytest.mark.parametrize(
    ("rescored", "copies", "left", "expected"),
    [(3, 10, 10, [7, 8, 9]), (20, 30, 5, [0, 1, 2, 3, 4])],
    ids=["the newest of equal rows", "fewer rows than wanted"],
)
def test_the_same_rows_are_scored(
    monkeypatch: pytest.MonkeyPatch,
    loops: ModuleType,
    rescored: int,
    copies: int,
    left: int,
    expected: list[int],
) -> None:
    index = VectorIndex(384, rescored=rescored)
    index.add(np.repeat(unit_vectors(1, 384), copies, axis=0))
    index.remove(list(range(left, copies)))

    plain, kernels = both(monkeypatch, loops, index, unit_vectors(1, 384)[0], rescored)

    assert sorted(plain[0]) == sorted(kernels[0]) == expected


def test_rows_without_vectors_have_no_cosines(
    monkeypatch: pytest.MonkeyPatch, loops: ModuleType
) -> None:
    index = VectorIndex(384)
    index.add(unit_vectors(3, 384))
    index.add_without(1)
    monkeypatch.setattr(COMPILED, "loops", loops)

    cosines = index.cosines(unit_vectors(1, 384)[0], [0, 3, 2])

    assert cosines[0] == pytest.approx(1, abs=0.01)
    assert np.isnan(cosines).tolist() == [False, True, False]


def test_word_scores_are_the_same(monkeypatch: pytest.MonkeyPatch, loops: ModuleType) -> None:
    words = ["dog", "walk", "tea", "coffee", "Lisbon", "work", "train", "music", "rain", "friend"]
    draw = np.random.default_rng(6)
    texts = [" ".join(draw.choice(words, 5)) for _ in range(300)]
    index = LexicalIndex(TextAnalyzer("en"))
    index.add(texts, texts[::-1])
    index.merge()
    index.remove([7])
    index.add(["a dog and a friend"], [""])
    scores = []
    for each in (None, loops):
        monkeypatch.setattr(COMPILED, "loops", each)
        found = index.score("does my friend walk the dog?")
        scores.append((found.own.tolist(), found.context.tolist()))
    assert scores[0] == scores[1]
    assert scores[0][0][7] == 0 < scores[0][0][300]


@pytest.mark.parametrize(("rows", "wanted"), [(3, False), (4, True)])
async def test_the_loops_are_loaded_for_a_large_index_while_nobody_speaks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rows: int, wanted: bool
) -> None:
    loaded = Compiled()
    monkeypatch.setattr(index_sync, "COMPILED", loaded)
    monkeypatch.setattr(kernels, "ROWS", 4)
    with closing(MemoryTable.open(str(tmp_path))) as table:
        table.add([memory(f"It is number {n}.", at=n) for n in range(rows)])
    async with opened_memory(tmp_path) as kept:
        assert loaded.loops is None, "the start does not wait for the loops"
        assert kept.untidy(FOLDED) is wanted
        await kept.tidy(FOLDED)
        assert (loaded.loops is not None) is wanted
        assert not kept.untidy(FOLDED)


def test_without_a_compiler_numpy_is_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "assistant.memory.retrieval.vectors.kernels_numba", None)
    loaded = Compiled()

    with caplog.at_level(logging.WARNING):
        loaded.load()
        loaded.load()

    assert loaded.loops is None
    (logged,) = (each.message for each in caplog.records)
    assert logged == "the loops can't be compiled: ModuleNotFoundError"
