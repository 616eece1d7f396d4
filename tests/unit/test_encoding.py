"""Caches, the query's own thread, and what is left of a text that was forgotten."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.errors import ModelFailed
from assistant.memory.retrieval.encoding import (
    LONGEST_DOCUMENT,
    LONGEST_QUERY,
    RECENT,
    QueryEncoder,
)

DIMENSIONS = 8
WAIT_S = 30


class Counting:
    """A `SentenceEncoder` that notes what it is given, waits where told to, and fails on "fail"."""

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
        assert self.may_go_on.wait(WAIT_S)
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
def encoder(counting: Counting) -> Iterator[QueryEncoder]:
    made = QueryEncoder(counting, queries_kept=3, documents_kept=2)
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


def test_nobody_can_spoil_what_is_kept(encoder: QueryEncoder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode_query("hello")[0] = 7
    encoder.encode_documents(["hello"])[0] = 7
    np.testing.assert_array_equal(encoder.encode_documents(["hello"])[0], Counting.vector("hello"))


def test_the_least_used_goes_first(encoder: QueryEncoder, counting: Counting) -> None:
    for query in ("a", "b", "c", "a", "d", "a"):
        encoder.encode_query(query)
    assert counting.given == ["a", "b", "c", "d"]
    assert encoder.texts() == ["c", "d", "a"]
    encoder.encode_query("b")
    assert counting.given[-1] == "b"


def test_documents_come_in_their_order_and_each_once(
    encoder: QueryEncoder, counting: Counting
) -> None:
    encoder.encode_documents(["one"])
    vectors = encoder.encode_documents(["two", "one", "two", "three"])

    expected = [Counting.vector(text) for text in ("two", "one", "two", "three")]
    np.testing.assert_array_equal(vectors, expected)
    assert counting.given == ["one", "two", "three"]
    assert encoder.encode_documents([]).shape == (0, DIMENSIONS)
    assert encoder.texts() == ["two", "three"]


def test_queries_and_documents_may_have_models_of_their_own(counting: Counting) -> None:
    other = Counting()
    other.name = "other"
    encoder = QueryEncoder(counting, other)
    encoder.encode_query("asked")
    encoder.encode_documents(["remembered"])
    encoder.close()

    assert (counting.given, other.given) == (["asked"], ["remembered"])
    assert encoder.name == "other"


def test_a_late_result_is_kept_for_the_next_time(encoder: QueryEncoder, counting: Counting) -> None:
    counting.may_go_on.clear()
    late = encoder.submit("slow")
    with pytest.raises(TimeoutError):
        late.result(timeout=0.001)
    counting.may_go_on.set()
    late.result(WAIT_S)

    assert encoder.submit("slow").done()
    assert counting.given == ["slow"]


def test_equal_queries_that_wait_are_encoded_once(
    encoder: QueryEncoder, counting: Counting
) -> None:
    counting.may_go_on.clear()
    waiting = [encoder.submit("same") for _ in range(5)]
    counting.may_go_on.set()
    results = [each.result(WAIT_S) for each in waiting]

    assert counting.given == ["same"]
    for one, other in pairwise(results):
        np.testing.assert_array_equal(one, other)


def test_a_query_that_nobody_waits_for_is_dropped(
    encoder: QueryEncoder, counting: Counting
) -> None:
    counting.may_go_on.clear()
    running = encoder.submit("where")
    assert counting.begun.wait(WAIT_S)
    stale, newest = encoder.submit("where is"), encoder.submit("where is my bike")
    assert stale.cancel()
    counting.may_go_on.set()

    newest.result(WAIT_S)
    running.result(WAIT_S)
    assert counting.given == ["where", "where is my bike"]


def test_a_failure_reaches_who_waits_and_nothing_is_kept(
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


def test_what_is_forgotten_is_gone_from_both_caches(encoder: QueryEncoder) -> None:
    for text in ("kept", " secret\0"):
        encoder.encode_query(text)
        encoder.encode_documents([text])
    assert encoder.texts().count("secret") == 2

    encoder.forget([])
    assert len(encoder.texts()) == 4
    encoder.forget([" secret\0", "never seen"])
    assert encoder.texts() == ["kept"], "documents; what was asked may be about what is forgotten"
    encoder.clear()
    assert encoder.texts() == []


@pytest.mark.parametrize("forget", ["forget", "clear"])
def test_what_is_forgotten_while_it_is_encoded_does_not_come_back(
    encoder: QueryEncoder, counting: Counting, forget: str
) -> None:
    counting.may_go_on.clear()
    running = encoder.submit("secret")
    waiting = encoder.submit("secret too")
    assert counting.begun.wait(WAIT_S)
    if forget == "clear":
        encoder.clear()
    else:
        encoder.forget(["secret", "secret too"])
    counting.may_go_on.set()

    running.result(WAIT_S)
    waiting.result(WAIT_S)
    assert encoder.texts() == []


STRANGE = ["", " ", "\0", "a\0b", "\ud800", "x\udfff", "?!…", "مرحبا بالعالم", "👩‍👩‍👧" * 99]


@pytest.mark.parametrize("text", STRANGE)
def test_strange_text_is_encoded(encoder: QueryEncoder, text: str) -> None:
    assert encoder.encode_query(text).shape == (DIMENSIONS,)
    assert encoder.encode_documents([text]).shape == (1, DIMENSIONS)


def test_of_a_megabyte_only_the_end_is_asked_and_the_beginning_remembered(
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


def test_many_threads_at_once(encoder: QueryEncoder) -> None:
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
        thread.join(WAIT_S)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert encoder.texts() == []


def test_after_closing_nothing_waits_for_ever(encoder: QueryEncoder, counting: Counting) -> None:
    counting.may_go_on.clear()
    running, waiting = encoder.submit("running"), encoder.submit("waiting")
    assert counting.begun.wait(WAIT_S)
    encoder.close()
    counting.may_go_on.set()

    running.result(WAIT_S)
    with pytest.raises(CancelledError):
        waiting.result(WAIT_S)
    encoder.close()
    with pytest.raises(ModelFailed, match="closed"):
        encoder.encode_query("too late")


def test_what_was_quick_lately_is_encoded_by_the_caller(counting: Counting) -> None:
    now = iter(range(1_000_000))
    encoder = QueryEncoder(counting, clock=lambda: next(now))  # each takes a second
    here = threading.get_ident()

    def asked(at_once_s: float) -> bool:
        """Whether a new question is encoded here."""
        counting.threads.clear()
        question = f"question {len(counting.given)}"
        vector = encoder.submit(question, at_once_s=at_once_s)
        if counting.threads == {here}:
            assert vector.done()
        np.testing.assert_allclose(vector.result(WAIT_S), counting.vector(question))
        return counting.threads == {here}

    assert [asked(2.0) for _ in range(RECENT + 2)] == [False] * RECENT + [True] * 2
    assert not asked(1.0)  # not quick enough for that
    assert not asked(0.0)
    with pytest.raises(ModelFailed):
        encoder.submit("fail", at_once_s=2.0).result(WAIT_S)
    encoder.close()


def test_after_a_slow_one_they_go_back_to_the_thread(counting: Counting) -> None:
    times = [0.0, 0.001] * RECENT + [0.0, 0.5] + [0.0, 0.001] * 2 * RECENT
    encoder = QueryEncoder(counting, clock=iter(times).__next__)
    own = []
    for number in range(2 * RECENT + 2):
        counting.threads.clear()
        encoder.submit(f"question {number}", at_once_s=0.003).result(WAIT_S)
        own.append(counting.threads != {threading.get_ident()})
    assert own == [True] * RECENT + [False] + [True] * RECENT + [False]
    encoder.close()
