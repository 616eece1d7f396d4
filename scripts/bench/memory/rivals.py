"""Other stores, filled with the same rows and asked the same questions with the same vectors.

LanceDB runs in this process, as it would in an application. Its hybrid query (full text and
vectors, fused by its own reciprocal rank reranker) uses its indexes. Unlike our queries, it has no
filter by user. mem0 runs in a separate environment (requirements.txt beside this file), with its
local Qdrant. Its times are measured in its own process, so they don't include sending requests.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, HnswSq
from lancedb.query import LanceHybridQueryBuilder
from lancedb.rerankers import RRFReranker
from numpy.typing import NDArray

from scripts.bench.filling import BATCH, Filled
from scripts.common.program import NotMeasured
from scripts.common.statistics import percentile

SERVER = Path(__file__).with_name("mem0_server.py")
ADDED = 100
"""Rows added to mem0 one by one, as an application would; the others are added in batches."""
GRAPH_FROM = 5_000
"""With at least this many rows, LanceDB's vector index is faster than its exact search."""

Vector = NDArray[np.float32]


class Rival(Protocol):
    """A filled store."""

    name: str
    filled: dict[str, Any]
    """The time to fill the store, in seconds; for mem0, also the milliseconds per added row."""

    def search(self, text: str, vector: Vector, k: int) -> tuple[list[int], float]:
        """The rows found, best first, and the milliseconds that the search took."""


class LanceHybrid:
    """LanceDB's own hybrid query."""

    name = "lancedb"

    def __init__(self, folder: Path, filled: Filled) -> None:
        texts = [json.loads(line) for line in filled.texts.read_text("utf-8").splitlines()]
        vectors = np.load(filled.vectors)
        began = time.perf_counter()
        self._table = lancedb.connect(str(folder)).create_table("rows", _table(0, texts, vectors))
        for start in range(BATCH, filled.rows, BATCH):
            self._table.add(_table(start, texts, vectors))
        self._table.create_index("text", config=FTS())
        if filled.rows >= GRAPH_FROM:
            self._table.create_index("vector", config=HnswSq(distance_type="cosine"))
        self._table.optimize()
        self.filled: dict[str, Any] = {"fill_s": round(time.perf_counter() - began, 1)}
        self._reranker = RRFReranker()

    def search(self, text: str, vector: Vector, k: int) -> tuple[list[int], float]:
        began = time.perf_counter()
        query = self._table.search(query_type="hybrid", vector_column_name="vector")
        assert isinstance(query, LanceHybridQueryBuilder)
        found = (
            query.vector(vector)
            .text(text)
            .distance_type("cosine")
            .rerank(self._reranker)
            .limit(k)
            .select(["row"])
            .to_arrow()
        )
        took = 1000 * (time.perf_counter() - began)
        return found["row"].to_pylist(), took


def _table(start: int, texts: list[str], vectors: NDArray[np.float32]) -> pa.Table:
    """A batch of rows, starting with row `start`."""
    some = vectors[start : start + BATCH]
    column = pa.FixedSizeListArray.from_arrays(pa.array(some.ravel()), some.shape[1])
    rows = pa.array(range(start, start + len(some)))
    return pa.table({"row": rows, "text": texts[start : start + BATCH], "vector": column})


class RivalEnded(NotMeasured):
    """The process with mem0 ended before it was expected to."""


class Mem0:
    """mem0 in a separate process."""

    name = "mem0"

    def __init__(self, process: "subprocess.Popen[str]", errors: Path, filled: Filled) -> None:
        self._process = process
        self._errors = errors
        paths = {"rows": str(filled.texts), "vectors": str(filled.vectors), "added": ADDED}
        told = self._ask({"fill": paths})
        self.filled: dict[str, Any] = {
            "fill_s": round(told["fill_s"], 1),
            "add_ms": {f"p{q}": round(percentile(told["add_ms"], q) or 0.0, 2) for q in (50, 95)},
        }

    def search(self, text: str, vector: Vector, k: int) -> tuple[list[int], float]:
        told = self._ask({"search": {"text": text, "vector": vector.tolist(), "k": k}})
        return told["keys"], told["ms"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            last = self._errors.read_text("utf-8").strip().rpartition("\n")[2]
            raise RivalEnded(f"mem0 ended with exit code {self._process.wait()}: {last}")
        told: dict[str, Any] = json.loads(answer)
        return told


@contextmanager
def mem0(python: Path, folder: Path, filled: Filled, dimensions: int) -> Iterator[Mem0]:
    """Start and fill mem0; its process ends with the block.

    Args:
        python: the interpreter of the environment in which mem0 is installed.

    Raises:
        RivalEnded: mem0 did not start.
    """
    errors = folder / "errors.txt"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [str(python), str(SERVER), str(folder), str(dimensions)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield Mem0(process, errors, filled)
    finally:
        process.kill()
        process.communicate()
