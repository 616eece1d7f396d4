"""The scripts that measure the memory run with the smallest models and report all their figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import bench_memory, eval_memory_qa
from scripts.eval import memory_qa

pytestmark = pytest.mark.real


def last_line(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1])


@pytest.mark.long
def test_bench_memory_reports_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--rows", "64", "--queries", "4"]
    code = bench_memory.main([*sizes, "--mem0", str(tmp_path / "python"), "--json"])

    told = capsys.readouterr()
    assert code == 0, told.err
    assert "mem0 is left out" in told.err
    found = last_line(told.out)
    rows = found["rows"]["64"]
    for state in ("alone", "busy"):
        assert rows[state]["recalls"] == 4
        assert rows[state]["p50"] <= rows[state]["p99"] <= rows[state]["max"]
        assert rows[state]["cpu_p50"] > 0
    assert rows["agreement"]["difference"] == 0
    assert rows["agreement"]["same"] > 0.9
    assert rows["beside"]["lancedb"]["verbatim"] == 1
    assert rows["beside"]["ours"]["hit@10"] >= 0.5
    assert rows["beside"]["lancedb"]["ratio_p50"] > 0
    assert rows["context"]["tokens"] > 4000
    assert rows["storing"]["committed_ms"]["p50"] <= rows["storing"]["embedded_ms"]["p50"]
    assert found["encoders"]["all-minilm-l6-v2"]["64"] == rows


@pytest.mark.long
def test_eval_memory_qa_reports_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(memory_qa.SETTINGS, "llm.max_answer_tokens", "24")
    kept = tmp_path / "kept.jsonl"
    small = ["--profile", "tiny", "--n", "1", "--way", "on", "--deadline-ms", "5000"]
    code = eval_memory_qa.main([*small, "--keep", str(kept), "--json"])

    told = capsys.readouterr()
    assert code == 0, told.err
    found = last_line(told.out)
    assert found["facts"] == 1
    assert found["on"]["shown"] == 1
    (asked,) = map(json.loads, kept.read_text("utf-8").splitlines())
    assert (asked["way"], asked["shown"]) == ("on", True)
    assert asked["answer"]
    assert found["on"]["share"] == asked["right"]
