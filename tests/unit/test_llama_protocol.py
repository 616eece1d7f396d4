"""How the worker turns the engine's chunks into replies."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from models.llm.llama_worker import run_request

Reply = dict[str, Any]


class ScriptedEngine:
    """Hands out chunks as llama.cpp's server does, until it is told to stop."""

    def __init__(self, chunks: Sequence[Reply | Exception]) -> None:
        self.chunks = chunks
        self.handed = 0

    def handle_chat_completions(self, _body: Reply, step: Callable[[Reply], bool]) -> None:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            self.handed += 1
            if step(chunk):
                return

    def handle_metrics(self) -> Reply:
        return {}


def token(text: str | None) -> Reply:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}]}


PROGRESS = {
    **token(None),
    "prompt_progress": {"total": 90, "cache": 10, "processed": 50, "time_ms": 1},
}
LAST = {
    "choices": [{"delta": {}, "finish_reason": "stop"}],
    "timings": {"cache_n": 10, "prompt_n": 80, "predicted_n": 3},
}


def run(
    *chunks: Reply | Exception, max_tokens: int = 9, cancel_at: str | None = None
) -> tuple[list[Reply], Reply, int]:
    """What was sent, what closed it, and how many chunks the engine got rid of."""
    engine, cancelled, sent = ScriptedEngine(chunks), threading.Event(), list[Reply]()

    def send(reply: Reply) -> None:
        sent.append(reply)
        if cancel_at is not None and reply.get("text") == cancel_at:
            cancelled.set()

    closing = run_request(engine, {"max_tokens": max_tokens}, cancelled, send)
    return sent, closing, engine.handed


def test_text_is_streamed_and_usage_closes_it() -> None:
    sent, closing, _ = run(PROGRESS, token(None), token("Hi"), token(""), token(" you"), LAST)

    assert sent == [{"progress": 50}, {"text": "Hi"}, {"text": " you"}]
    assert closing == {"done": {"read": 80, "cached": 10, "generated": 3}}


def test_reading_alone_says_nothing() -> None:
    sent, closing, _ = run(PROGRESS, token("Hi"), LAST, max_tokens=0)

    assert sent == [{"progress": 50}]
    assert closing == {"done": {"read": 80, "cached": 10, "generated": 0}}


def test_a_cancelled_answer_ends_at_the_next_token() -> None:
    sent, closing, handed = run(
        PROGRESS, token("Hi"), token(" you"), token(" all"), LAST, cancel_at="Hi"
    )

    assert sent == [{"progress": 50}, {"text": "Hi"}]
    assert handed == 2
    assert closing == {"done": {"read": 40, "cached": 10, "generated": 0}}


def test_the_engines_error_is_handed_on() -> None:
    error = {"error": {"type": "exceed_context_size_error", "message": "too long", "n_ctx": 512}}

    assert run(error)[1] == error
    assert run({"error": "plain"})[1] == {"error": {"type": "error", "message": "plain"}}
    assert run(RuntimeError("lost"))[1] == {"error": {"type": "RuntimeError", "message": "lost"}}
