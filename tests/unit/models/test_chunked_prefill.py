"""The size of the pieces in which a background prompt is read, and when the slot is free again."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from models.llm import chunked_prefill
from models.llm.chunked_prefill import STEP_S, TRIED_AFTER, ChunkedPrefill
from models.llm.llama_worker import processed

BODY = {"messages": [{"role": "user", "content": "Hello"}], "id_slot": 1, "stream": True}
PROMPT = 200


@dataclass
class Engine:
    """An engine that reads a token in `token_s` seconds by its own clock."""

    token_s: float
    step_s: float = 0.0
    now: float = 0.0
    cached: int = 0
    sizes: list[int] = field(default_factory=list)
    posted: list[str] = field(default_factory=list)
    on_post: Callable[[], None] = lambda: None
    on_step: Callable[[], None] = lambda: None

    def complete(self, body: dict[str, Any], step: Callable[[dict[str, Any]], bool]) -> None:
        new = len(body["prompt"]) - self.cached
        self.cached += new
        self.sizes.append(new)
        self.now += self.step_s + new * self.token_s
        self.on_step()
        step({"timings": {"prompt_n": new}})

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.posted.append(path)
        self.on_post()
        return {"prompt": "…"} if path == "/apply-template" else {"tokens": list(range(PROMPT))}

    # in place of the module `time`
    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def pieces(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, busy: Callable[[], bool] = lambda: False
) -> ChunkedPrefill:
    monkeypatch.setattr(chunked_prefill, "time", engine)
    return ChunkedPrefill(engine.complete, engine.post, busy, context=2_048, most=32)


@pytest.mark.parametrize(
    ("token_s", "first", "then"), [(0.0001, 4, 32), (0.00099, 4, 20), (0.007, 4, 2), (0.03, 4, 1)]
)
def test_a_piece_takes_about_20_ms(
    monkeypatch: pytest.MonkeyPatch, token_s: float, first: int, then: int
) -> None:
    engine = Engine(token_s)

    read = pieces(monkeypatch, engine).read(BODY, threading.Event(), lambda _: None)

    assert engine.sizes[0] == first
    assert set(engine.sizes[1:TRIED_AFTER]) == {then}
    assert max(engine.sizes) <= max(first, then + 1), "now and then one more token is tried"
    assert read == sum(engine.sizes)
    assert PROMPT - then - 1 <= read < PROMPT, "the last piece is left to the request itself"


def test_pieces_grow_again_after_a_slow_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(token_s=0.002, step_s=0.009)
    slot = pieces(monkeypatch, engine)
    engine.on_step = lambda: engine.sleep(0.5 if len(engine.sizes) == 3 else 0)

    slot.read(BODY, threading.Event(), lambda _: None)

    at = engine.sizes.index(1)
    assert engine.sizes[at - 1] > 1, "the slow moment reduces the size to one token"
    assert engine.sizes[-8:].count(5) >= 6, "five tokens use up a piece's time"


def test_a_size_that_does_not_fit_is_tried_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(token_s=0.012)

    pieces(monkeypatch, engine).read(BODY, threading.Event(), lambda _: None)

    tried = [at for at, size in enumerate(engine.sizes) if size == 2]
    between = [after - before for before, after in pairwise(tried)]
    assert len(between) >= 2
    assert between == sorted(between)
    assert between[-1] > 2 * between[0]


def test_nothing_is_read_for_a_cancelled_request(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    engine = Engine(0.001, on_post=cancelled.set)

    assert pieces(monkeypatch, engine).read(BODY, cancelled, lambda _: None) == 0

    assert engine.posted == ["/apply-template"]
    assert engine.sizes == []


def test_the_slot_is_free_once_the_current_step_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: Iterator[bool] = iter([True, True, False])
    slot = pieces(monkeypatch, Engine(0.001), lambda: next(steps))
    assert slot.enter(threading.Event())

    slot.leave(in_midst=True)

    assert list(steps) == []
    assert slot.enter(threading.Event())


def test_a_step_that_never_ends_is_not_waited_for_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(0.001)
    slot = pieces(monkeypatch, engine, lambda: True)
    assert slot.enter(threading.Event())

    slot.leave(in_midst=True)

    assert engine.now == pytest.approx(STEP_S, abs=0.01)
    assert slot.enter(threading.Event())


def test_the_slot_is_free_even_if_the_engine_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def busy() -> bool:
        raise RuntimeError("it has ended")

    slot = pieces(monkeypatch, Engine(0.001), busy)
    assert slot.enter(threading.Event())

    with pytest.raises(RuntimeError, match="it has ended"):
        slot.leave(in_midst=True)

    assert slot.enter(threading.Event())


def test_running_requests_are_counted_from_the_engine_s_metrics() -> None:
    metrics = (
        "# HELP llamacpp:requests_processing Number of requests processing\n"
        "# TYPE llamacpp:requests_processing gauge\n"
        "llamacpp:requests_processing 2\n"
        "llamacpp:requests_deferred 1\n"
    )
    assert processed(metrics) == 2
    assert processed("") == 0
