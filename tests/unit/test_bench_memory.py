"""The memory benchmark: the store it fills, and the systems it compares ours with, including one
whose process dies."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from scripts.bench.filling import USER, Filled, fill
from scripts.bench.memory import rivals
from scripts.bench.memory.rivals import LanceHybrid, RivalEnded, mem0
from scripts.common.statistics import summary
from tests.support.encoders import HashingEncoder

STAND_IN = """\
import json, sys
rows = []
for line in sys.stdin:
    request = json.loads(line)
    if "fill" in request:
        rows = [json.loads(each) for each in open(request["fill"]["rows"], encoding="utf-8")]
        reply = {"rows": len(rows), "add_ms": [1.0, 3.0], "fill_s": 0.5}
    elif request["search"]["text"] == "die":
        sys.exit("I died")
    else:
        reply = {"keys": [rows.index(request["search"]["text"])], "ms": 1.5}
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    (tmp_path / "beside").mkdir()
    return fill(tmp_path / "stored", tmp_path / "beside", 48, QueryEncoder(HashingEncoder()))


def test_facts_are_stored_in_the_reported_rows(tmp_path: Path, filled: Filled) -> None:
    texts = [json.loads(line) for line in filled.texts.read_text("utf-8").splitlines()]
    assert len(texts) == len(np.load(filled.vectors)) == 48
    assert len(filled.facts) == 6
    table = MemoryTable.open(str(tmp_path / "stored"))
    try:
        stored = table.get(USER, [fact.id for fact in filled.facts])
    finally:
        table.close()
    for fact in filled.facts:
        assert texts[fact.row] == fact.said
        assert fact.said in [memory.text for memory in stored]


def test_lancedb_finds_by_words_and_by_meaning(tmp_path: Path, filled: Filled) -> None:
    vectors = np.load(filled.vectors)
    store = LanceHybrid(tmp_path / "lance", filled)
    first, second = filled.facts[:2]
    by_meaning, took = store.search("zyzzyva", vectors[first.row], 3)
    by_words, _ = store.search(second.said, -vectors[second.row], 5)
    assert by_meaning[0] == first.row
    assert second.row in by_words
    assert took > 0


def test_mem0_runs_in_a_process_of_its_own(
    tmp_path: Path, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    monkeypatch.setattr(rivals, "SERVER", stand_in)
    with mem0(Path(sys.executable), tmp_path, filled, 64) as store:
        assert store.filled == {"fill_s": 0.5, "add_ms": {"p50": 2.0, "p95": 2.9}}
        fact = filled.facts[0]
        assert store.search(fact.said, np.zeros(64, np.float32), 1) == ([fact.row], 1.5)
        with pytest.raises(RivalEnded, match="I died"):
            store.search("die", np.zeros(64, np.float32), 1)


def test_a_summary_has_three_percentiles_and_the_maximum() -> None:
    assert summary([1.0, 2.0, 9.0]) == {"p50": 2.0, "p95": 8.3, "p99": 8.86, "max": 9.0}
