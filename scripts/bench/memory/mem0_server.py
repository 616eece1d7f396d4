"""Serves mem0, on a local Qdrant folder, via lines of JSON; runs in a separate environment.

    PYTHON scripts/bench/memory/mem0_server.py FOLDER DIMENSIONS

Imports nothing from the project. Vectors come with the texts, so no encoder is needed here. With
`infer=False` no language model is used either. Every network connection is refused. Each line of
standard input is a request, which is answered with one line:

    {"fill": {"rows": JSONL, "vectors": NPY, "added": N}}  → {"rows": n, "add_ms": […], "fill_s": s}
    {"search": {"text": …, "vector": […], "k": 10}}        → {"keys": […], "ms": t}

The last N rows are added with `Memory.add`, as an application would do it, and are timed. The other
rows go into mem0's own vector store in batches, with the fields that `add` writes.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

USER = "me"
AT_ONCE = 1_000


def refuse(*_: object) -> NoReturn:
    raise OSError("this process has no network")


class GivenVectors:
    """Replaces mem0's embedder: the vectors come with the request."""

    def __init__(self) -> None:
        self.known: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return self.known[text]

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class Server:
    """Answers requests from a mem0 memory.

    Args:
        memory: a `mem0.Memory`; untyped, since type checkers don't see its environment.
    """

    def __init__(self, memory: Any, vectors: GivenVectors) -> None:
        self._memory = memory
        self._vectors = vectors
        memory.embedding_model = vectors

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "fill" in request:
            return self._fill(**request["fill"])
        return self._search(**request["search"])

    def _fill(self, rows: str, vectors: str, added: int) -> dict[str, Any]:
        import numpy as np

        texts = [json.loads(line) for line in Path(rows).read_text("utf-8").splitlines()]
        given = np.load(vectors)
        bulk = max(0, len(texts) - added)
        began = time.perf_counter()
        for start in range(0, bulk, AT_ONCE):
            stop = min(start + AT_ONCE, bulk)
            self._memory.vector_store.insert(
                vectors=given[start:stop].tolist(),
                payloads=[_payload(text, row) for row, text in enumerate(texts[start:stop], start)],
                ids=[str(uuid4()) for _ in range(start, stop)],
            )
        filled = time.perf_counter() - began
        times = []
        for row in range(bulk, len(texts)):
            self._vectors.known = {texts[row]: given[row].tolist()}
            began = time.perf_counter()
            self._memory.add(texts[row], user_id=USER, infer=False, metadata={"row": row})
            times.append(1000 * (time.perf_counter() - began))
        return {"rows": len(texts), "add_ms": times, "fill_s": filled}

    def _search(self, text: str, vector: list[float], k: int) -> dict[str, Any]:
        self._vectors.known = {text: vector}
        began = time.perf_counter()
        found = self._memory.search(text, top_k=k, filters={"user_id": USER})["results"]
        took = 1000 * (time.perf_counter() - began)
        return {"keys": [each["metadata"]["row"] for each in found], "ms": took}


def _payload(text: str, row: int) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    times = {"created_at": now, "updated_at": now}
    return {"data": text, "text_lemmatized": text, "user_id": USER, "row": row, **times}


@contextmanager
def opened(folder: Path, dimensions: int) -> Iterator[Server]:
    os.environ |= {
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(folder / "mem0"),
        "OPENAI_API_KEY": "none",  # the OpenAI client requires a key, but is never called
    }
    from mem0 import Memory  # imported here because it reads the environment on import

    store = {
        "path": str(folder / "qdrant"),
        "collection_name": "memories",
        "embedding_model_dims": dimensions,
        "on_disk": True,
    }
    settings = {
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(folder / "history.db"),
    }
    with Memory.from_config(settings) as memory:
        yield Server(memory, GivenVectors())


def main(folder: str, dimensions: str) -> None:
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # so that libraries' output is not taken for an answer
    for owner, name in ((socket.socket, "connect"), (socket, "getaddrinfo")):
        setattr(owner, name, refuse)
    with opened(Path(folder), int(dimensions)) as server:
        for line in sys.stdin:
            told.write(json.dumps(server.answer(json.loads(line))) + "\n")
            told.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
