"""Caches, the thread that encodes queries, and the removal of forgotten texts."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.errors import ModelFailed
from assistant.memory.retrieval import encoding
from assistant.memory.retrieval.encoding import (
    LONGEST_DOCUMENT,
    LONGEST_QUERY,
    RECENT,
    QueryEncoder,
)
from tests.support.patience import PATIENCE_S

DIMENSIONS = 8


class Counting:
    """A `SentenceEncoder` that records its input, waits if asked to, and fails on "fail"."""

    name = "counting"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.given: list[str] = []
        self.threads: set[int] = set()
        self.begun = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def load(self) -> None: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.threads.add(threading.get_ident())
        self.given += texts
        self.begun.set()
        assert self.may_go_on.wait(PATIENCE_S)
        if "fail" in texts:
            raise ModelFailed("The encoder failed.")
        vectors = np.array([self.vector(text) for text in texts], np.float32)
        return vectors.reshape(len(texts), DIMENSIONS)

    @staticmethod
    def vector(text: str) -> NDArray[np.float32]:
        text.encode("utf-8")
        seed = np.random.default_rng(list(text.encode("utf-8")) or [0])
        vector = seed.standard_normal(DIMENSIONS).astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def encoder(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueryEncoder]:
    monkeypatch.setattr(encoding, "QUERIES_KEPT", 3)
    monkeypatch.setattr(encoding, "DOCUMENTS_KEPT", 2)
    made = QueryEncoder(counting)
    yield made
    counting.may_go_on.set()
    made.close()


def test_a_query_is_encoded_once_and_in_another_thread(
    encoder: QueryEncoder, counting: Counting
) -> None:
    first = encoder.encode_query("where is my bike")
    again = encoder.submit("where is my bike")

    assert again.done()
    np.testing.assert_array_equal(first, Counting.vector("where is my bike"))
    np.testing.assert_array_equal(again.result(), first)
    assert counting.given == ["where is my bike"]
    assert threading.get_ident() not in counting.threads


def test_cached_vectors_are_read_only(encoder: QueryEncoder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode_query("hello")[0] = 7
    encoder.encode_documents(["hello"])[0] = 7
    np.testing.assert_array_equal(encoder.encode_documents(["hello"])[0], Counting.vector("hello"))


def test_the_least_recently_used_query_is_evicted_first(
    encoder: QueryEncoder, counting: Counting
) -> None:
    for query in ("a", "b", "c", "a", "d", "a"):
        encoder.encode_query(query)
    assert counting.given == ["a", "b", "c", "d"]
    assert encoder.texts() == ["c", "d", "a"]
    encoder.encode_query("b")
    assert counting.given[-1] == "b"


def test_document_vectors_are_in_order_and_each_text_is_encoded_once(
    encoder: QueryEncoder, counting: Counting
) -> None:
    encoder.encode_documents(["one"])
    vectors = encoder.encode_documents(["two", "one", "two", "three"])

    expected = [Counting.vector(text) for text in ("two", "one", "two", "three")]
    np.testing.assert_array_equal(vectors, expected)
    assert counting.given == ["one", "two", "three"]
    assert encoder.encode_documents([]).shape == (0, DIMENSIONS)
    assert encoder.texts() == ["two", "three"]


def test_queries_and_documents_may_have_separate_models(counting: Counting) -> None:
    other = Counting()
    other.name = "other"
    encoder = QueryEncoder(counting, other)
    encoder.encode_query("asked")
    encoder.encode_documents(["remembered"])
    encoder.close()

    assert (counting.given, other.given) == (["asked"], ["remembered"])
    assert encoder.name == "other"


def test_equal_queries_that_wait_are_encoded_once(
    encoder: QueryEncoder, counting: Counting
) -> None:
    counting.may_go_on.clear()
    waiting = [encoder.submit("same") for _ in range(5)]
    counting.may_go_on.set()
    results = [each.result(PATIENCE_S) for each in waiting]

    assert counting.given == ["same"]
    for one, other in pairwise(results):
        np.testing.assert_array_equal(one, other)


def test_a_failure_is_raised_and_nothing_is_cached(
    encoder: QueryEncoder, counting: Counting
) -> None:
    for _ in range(2):
        with pytest.raises(ModelFailed, match="The encoder failed"):
            encoder.encode_query("fail")
    assert counting.given == ["fail", "fail"]
    with pytest.raises(ModelFailed):
        encoder.encode_documents(["fail"])
    assert encoder.texts() == []
    encoder.encode_query("fine")


def test_forgotten_texts_are_gone_from_both_caches(encoder: QueryEncoder) -> None:
    for text in ("kept", " secret\0"):
        encoder.encode_query(text)
        encoder.encode_documents([text])
    assert encoder.texts().count("secret") == 2

    encoder.forget([])
    assert len(encoder.texts()) == 4
    encoder.forget([" secret\0", "never seen"])
    assert encoder.texts() == ["kept"], "all queries are gone: they may be about the secret"
    encoder.clear()
    assert encoder.texts() == []


@pytest.mark.parametrize("forget", ["forget", "clear"])
def test_a_text_forgotten_while_it_is_encoded_is_not_cached(
    encoder: QueryEncoder, counting: Counting, forget: str
) -> None:
    counting.may_go_on.clear()
    running = encoder.submit("secret")
    waiting = encoder.submit("secret too")
    assert counting.begun.wait(PATIENCE_S)
    if forget == "clear":
        encoder.clear()
    else:
        encoder.forget(["secret", "secret too"])
    counting.may_go_on.set()

    running.result(PATIENCE_S)
    waiting.result(PATIENCE_S)
    assert encoder.texts() == []


STRANGE = ["", " ", "\0", "a\0b", "\ud800", "x\udfff", "?!…", "مرحبا بالعالم", "👩‍👩‍👧" * 99]


@pytest.mark.parametrize("text", STRANGE)
def test_strange_text_is_encoded(encoder: QueryEncoder, text: str) -> None:
    assert encoder.encode_query(text).shape == (DIMENSIONS,)
    assert encoder.encode_documents([text]).shape == (1, DIMENSIONS)


def test_only_the_end_of_a_long_query_and_the_beginning_of_a_long_document_are_encoded(
    encoder: QueryEncoder, counting: Counting
) -> None:
    text = "begin" + "x" * 1_000_000 + "end"
    encoder.encode_query(text)
    encoder.encode_documents([text])

    asked, remembered = counting.given
    assert len(asked) == LONGEST_QUERY
    assert asked.endswith("end")
    assert len(remembered) == LONGEST_DOCUMENT
    assert remembered.startswith("begin")
    encoder.forget([text])
    assert encoder.texts() == []


def test_many_threads_can_encode_and_forget_at_once(encoder: QueryEncoder) -> None:
    queries = [f"query {number % 7}" for number in range(200)]
    wrong: list[str] = []

    def ask(chosen: list[str]) -> None:
        for query in chosen:
            if not np.array_equal(encoder.encode_query(query), Counting.vector(query)):
                wrong.append(query)
            encoder.forget([query])

    threads = [threading.Thread(target=ask, args=(queries[start::8],)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert encoder.texts() == []


def test_nothing_waits_for_ever_after_closing(encoder: QueryEncoder, counting: Counting) -> None:
    counting.may_go_on.clear()
    running, waiting = encoder.submit("running"), encoder.submit("waiting")
    assert counting.begun.wait(PATIENCE_S)
    encoder.close()
    counting.may_go_on.set()

    running.result(PATIENCE_S)
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE_S)
    encoder.close()
    with pytest.raises(ModelFailed, match="closed"):
        encoder.encode_query("too late")


def test_the_calling_thread_encodes_if_encoding_was_fast_recently(counting: Counting) -> None:
    fast, slow = [0.0, 0.001], [0.0, 0.5]
    times = fast * (RECENT + 1) + slow + fast * (RECENT + 2)
    encoder = QueryEncoder(counting, clock=iter(times).__next__)

    def by_caller(at_once_s: float = 0.003) -> bool:
        counting.threads.clear()
        question = f"question {len(counting.given)}"
        vector = encoder.submit(question, at_once_s=at_once_s)
        here = counting.threads == {threading.get_ident()}
        assert vector.done() or not here
        np.testing.assert_allclose(vector.result(PATIENCE_S), counting.vector(question))
        return here

    assert [by_caller() for _ in range(RECENT)] == [False] * RECENT
    assert not by_caller(0.001), "not fast enough for 1 ms"
    assert by_caller(), "this encoding is slow"
    assert [by_caller() for _ in range(RECENT)] == [False] * RECENT
    assert by_caller()
    with pytest.raises(ModelFailed):
        encoder.submit("fail", at_once_s=0.003).result(PATIENCE_S)
    encoder.close()
