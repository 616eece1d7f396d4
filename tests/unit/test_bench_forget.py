"""The forgetting benchmark can be run, and the memories that it forgets are gone."""

import json

import pytest

from scripts import bench_forget


def test_the_benchmark_forgets_and_hides_memories(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--rows", "300", "--dimensions", "16", "--forget", "1", "20", "--hide", "3"]
    assert bench_forget.main([*small, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    forgotten = found["rows"]["300"]["forget"]
    assert {count: each["memories"] for count, each in forgotten.items()} == {"1": 2, "20": 20}
    assert all(each["clean"] and each["rewritten"] for each in forgotten.values())
    hiding = found["rows"]["300"]["hiding"]
    assert hiding["hide"]["found_before"] > hiding["hide"]["found_after"] == 0
    assert hiding["forget_that"].keys() > {"ms", "held_ms"}
