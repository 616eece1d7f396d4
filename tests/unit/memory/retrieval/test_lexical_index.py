"""Full-text search, compared with bm25s on the whole corpus."""

import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from bm25s import BM25
from numpy.typing import NDArray

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval import lexical_index
from assistant.memory.retrieval.bm25_matrix import Segment
from assistant.memory.retrieval.lexical_index import LexicalIndex
from data import located
from tests.support.in_ram import held

SYLLABLES = ["ba", "du", "fi", "go", "ke", "lo", "mu", "na", "pi", "ro", "su", "te", "vo", "zi"]


def corpus(rows: int, seed: int = 1) -> list[str]:
    """Texts of 1 to 25 made-up words, some frequent and some rare, as in a language."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=3)) + "k" for _ in range(400)]
    weights = [1 / rank for rank in range(1, 401)]
    return [" ".join(chance.choices(words, weights, k=chance.randint(1, 25))) for _ in range(rows)]


def index(texts: Sequence[str], contexts: Sequence[str] | None = None) -> LexicalIndex:
    made = LexicalIndex(TextAnalyzer())
    made.add(texts, [""] * len(texts) if contexts is None else contexts)
    return made


@cache
def plain_bm25s(texts: tuple[str, ...]) -> tuple[list[list[str]], BM25]:
    documents = [TextAnalyzer().content(text) for text in texts]
    bm25 = BM25(method="lucene", k1=1.5, b=0.75)
    bm25.index(documents, show_progress=False)
    return documents, bm25


def reference(texts: Sequence[str], query: str) -> NDArray[np.float32]:
    """The scores of bm25s itself, divided by the sum of the query's idf (Lucene's formula)."""
    documents, bm25 = plain_bm25s(tuple(texts))
    stems = list(dict.fromkeys(TextAnalyzer().content(query)))
    having = np.array([sum(stem in document for document in documents) for stem in stems])
    whole = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5)).sum()
    scores: NDArray[np.float32] = bm25.get_scores(stems) / whole
    return scores


QUERIES = [*corpus(6, seed=2), "unheard " + corpus(1, seed=3)[0]]


class TestScores:
    @pytest.mark.parametrize("query", QUERIES)
    @pytest.mark.parametrize("state", ["new", "built", "merged", "half merged"])
    def test_scores_are_those_of_bm25s(
        self, query: str, state: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        texts = corpus(300)
        if state == "built":
            monkeypatch.setattr(lexical_index, "BULK", 1)
        made = index(texts if state in ("new", "built") else texts[:100])
        for start in range(len(made), 300, 50):
            made.merge()
            made.add(texts[start : start + 50], [""] * 50)
        if state == "merged":
            made.merge()
            assert made.unmerged == 0
        scores = made.score(query).own
        # In a half-merged index, the average length differs.
        error = 0.01 if state == "half merged" else 1e-6
        assert scores == pytest.approx(reference(texts, query), abs=error)
        assert scores.dtype == np.float32
        assert scores.max() < 1

    def test_rows_added_in_bulk_are_merged_with_the_earlier_ones(self) -> None:
        texts = corpus(2 * lexical_index.BULK + 1)
        made = index(texts[: lexical_index.BULK])
        made.add(texts[lexical_index.BULK : -1], [""] * lexical_index.BULK)
        made.add(texts[-1:], [""])
        assert made.unmerged == 1
        made.merge()
        assert made.score(QUERIES[0]).own == pytest.approx(reference(texts, QUERIES[0]), abs=1e-6)

    def test_text_and_context_are_scored_separately(self) -> None:
        made = index(["a red kite", "a blue boat"], ["in autumn", "a kite in spring"])
        own, context = made.score("kite")
        assert own[0] > 0 == own[1]
        assert context[1] > 0 == context[0]

    def test_rows_without_context_do_not_make_contexts_seem_long(self) -> None:
        sparse = index(["x"] * 9, ["green apple", *[""] * 8])
        dense = index(["x"], ["green apple"])
        assert sparse.score("apple").context[0] == dense.score("apple").context[0]

    @pytest.mark.parametrize("query", ["", "what is it that you did?", "?!", "\x00"])
    def test_stop_words_alone_find_nothing(self, query: str) -> None:
        made = index(["what it is that you did"], ["what"])
        assert not made.score(query).own.any()
        assert not made.score(query).context.any()

    def test_common_and_unknown_words_weaken_the_evidence(
        self,
    ) -> None:
        made = index(["my cat sleeps", "her cat plays", "a cat eats", "the axolotl eats"])
        both = made.score("cat axolotl").own
        assert both[3] > both[0] > 0
        assert made.score("cat").own[0] > made.score("cat zeppelin").own[0] > 0
        assert made.score("axolotl cat cats cat").own == pytest.approx(both)

    def test_an_empty_index_finds_nothing(self) -> None:
        made = LexicalIndex(TextAnalyzer())
        made.merge()
        assert made.score("cat").own.shape == (0,)
        made.add(["", "?"], ["", ""])
        made.purge()
        assert made.score("cat").own.tolist() == [0, 0]


class TestChanges:
    @pytest.fixture(params=["plain", "merged", "half"])
    def state(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def made(self, texts: Sequence[str], state: str) -> LexicalIndex:
        half = len(texts) // 2
        made = index(texts[:half], [f"about {text}" for text in texts[:half]])
        if state != "plain":
            made.merge()
        made.add(texts[half:], [f"about {text}" for text in texts[half:]])
        if state == "merged":
            made.merge()
        return made

    def test_removed_rows_score_nothing_and_no_longer_affect_other_scores(self, state: str) -> None:
        texts = corpus(60)
        made = self.made(texts, state)
        gone = [3, 40, 59, 3]
        made.remove(gone)
        left = [row for row in range(60) if row not in gone]
        for _ in range(2):
            for query in QUERIES:
                own, context = made.score(query)
                assert not own[gone].any()
                assert not context[gone].any()
                expected = reference([texts[row] for row in left], query)
                assert own[left] == pytest.approx(expected, abs=0.03)
            made.merge()
        own = made.score(QUERIES[0]).own[left]
        expected = reference([texts[row] for row in left], QUERIES[0])
        assert own == pytest.approx(expected, abs=1e-6)
        made.remove(gone)
        assert made.unmerged == 0

    def test_removed_rows_are_excluded_from_the_statistics_at_once(self) -> None:
        texts = corpus(60)
        made = index(texts[:40])
        made.merge()
        made.add(texts[40:], [""] * 20)
        gone = [3, *range(20, 40), 50]
        made.remove(gone)
        left = [row for row in range(60) if row not in gone]
        new = [row >= 40 for row in left]
        for query in QUERIES:
            # The new rows are scored with the current average length.
            expected = reference([texts[row] for row in left], query)[new]
            assert made.score(query).own[left][new] == pytest.approx(expected, abs=1e-6)

    def test_purged_words_are_left_nowhere_in_the_index(self, state: str) -> None:
        made = self.made(["my dog Rumpelstilzchen", "a dog", "the xylophone", "two dogs"], state)
        assert b"rumpelstilzchen" in held(made)
        made.remove([0])
        made.replace(2, "a trumpet", "")
        made.purge()
        left = held(made)
        assert b"rumpelstilzchen" not in left
        assert b"xylophon" not in left
        assert b"trumpet" in left
        assert b"dog" in left
        assert made.score("dogs").own.astype(bool).tolist() == [False, True, False, True]

    def test_a_replaced_row_has_only_the_new_words(self, state: str) -> None:
        made = self.made(["red kite", "blue boat", "green hill", "old house"], state)
        for row in range(4):
            made.replace(row, f"tower {row}", "made of stone")
        for _ in range(2):
            assert not made.score("red kite boat hill house").own.any()
            assert not made.score("kite").context.any()
            assert made.score("tower").own.all()
            assert made.score("stone").context.all()
            made.merge()
        made.remove([1])
        made.replace(1, "red kite", "")
        assert made.score("kite").own.astype(bool).tolist() == [False, True, False, False]

    def test_an_index_works_after_every_row_was_removed(self, state: str) -> None:
        made = self.made(corpus(10), state)
        made.remove(range(10))
        made.purge()
        assert len(made) == 10
        assert not made.score(QUERIES[0]).own.any()
        made.add(["a new beginning"], [""])
        assert made.score("beginning").own.astype(bool).tolist() == [False] * 10 + [True]

    def test_changes_during_a_merge_are_not_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = index(["red kite", "blue boat", "green hill", "old house"])
        carried_out = lexical_index._Plan.carried_out

        def meanwhile(plan: lexical_index._Plan) -> Segment:
            segment = carried_out(plan)
            if len(made) == 4:
                made.remove([0])
                made.replace(1, "tall tower", "")
                made.add(["a red fox"], [""])
            return segment

        monkeypatch.setattr(lexical_index._Plan, "carried_out", meanwhile)
        made.merge()
        for _ in range(2):
            found = [made.score(word).own.nonzero()[0].tolist() for word in ("red", "boat", "hill")]
            assert found == [[4], [], [2]]
            assert made.score("tower").own.nonzero()[0].tolist() == [1]
            made.purge()
        assert b"kite" not in held(made)

    def test_searching_continues_while_another_thread_changes_rows(self) -> None:
        texts = corpus(400)
        made = index(texts)

        def change() -> None:
            for row in range(0, 400, 4):
                made.remove([row])
                made.replace(row + 1, texts[row], "")
                made.add([texts[row + 2]], [""])
                if row % 40 == 0:
                    made.merge()

        with ThreadPoolExecutor(1) as pool:
            changing = pool.submit(change)
            while not changing.done():
                made.score(QUERIES[0])
        changing.result()
        final = [texts[row - 1] if row % 4 == 1 else texts[row] for row in range(400)]
        final += [texts[row + 2] for row in range(0, 400, 4)]
        left = [row for row in range(500) if row >= 400 or row % 4]
        made.purge()
        assert made.score(QUERIES[0]).own[left] == pytest.approx(
            reference([final[row] for row in left], QUERIES[0]), abs=1e-6
        )


def test_a_segment_is_the_matrix_that_bm25s_builds_of_real_text() -> None:
    lines = located("evaluation/paraphrase_facts.jsonl").read_text("utf-8").splitlines()
    texts = tuple(json.loads(line)["said"] for line in lines)
    words, bm25 = plain_bm25s(texts)
    made = Segment.build({3 * row: each for row, each in enumerate(words)})

    frequencies = np.diff(made.starts)
    idf = np.log1p((len(texts) - frequencies + 0.5) / (frequencies + 0.5))
    weights = np.zeros((len(texts), len(made.columns)))
    weights[made.rows // 3, made.of_words()] = made.parts * np.repeat(idf, frequencies)
    assert len(texts) > 100
    for word, column in made.columns.items():
        np.testing.assert_allclose(bm25.get_scores([word]), weights[:, column], atol=1e-6)


def test_a_segment_of_texts_without_words_is_empty() -> None:
    made = Segment.build({0: [], 1: []})
    assert (made.columns, made.starts.tolist(), len(made.documents)) == ({}, [0], 0)
