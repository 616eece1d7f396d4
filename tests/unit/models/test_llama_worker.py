"""The worker's handling of the engine's chunks; tests/real/test_llama_worker.py uses the engine."""

import threading
from collections.abc import Callable
from typing import Any

from models.llm.llama_worker import run_request

Reply = dict[str, Any]


def token(text: str) -> Reply:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}]}


class ScriptedEngine:
    """Passes on chunks until it is told to stop, or fails."""

    def __init__(self, *chunks: Reply | Exception) -> None:
        self.chunks = list(chunks)

    def handle_chat_completions(self, _body: Reply, step: Callable[[Reply], bool]) -> None:
        while self.chunks:
            chunk = self.chunks.pop(0)
            if isinstance(chunk, Exception):
                raise chunk
            if step(chunk):
                return


def test_a_cancelled_answer_ends_at_the_next_token() -> None:
    engine, cancelled, sent = ScriptedEngine(*map(token, "abc")), threading.Event(), list[Reply]()

    def send(reply: Reply) -> None:
        sent.append(reply)
        cancelled.set()

    done = run_request(engine, {"max_tokens": 9}, cancelled, send)

    assert sent == [{"text": "a"}]
    assert done == {"done": {"read": 0, "cached": 0, "generated": 0}}
    assert engine.chunks == [token("b"), token("c")]


def test_an_exception_is_reported() -> None:
    engine = ScriptedEngine(RuntimeError("lost"))
    reply = run_request(engine, {"max_tokens": 9}, threading.Event(), lambda _: None)
    assert reply == {"error": {"type": "RuntimeError", "message": "lost"}}
