"""What the recogniser hears of turns spoken at their pauses is written line by line."""

import json
from pathlib import Path

import pytest

from scripts import hear_turns
from scripts.common.spoken_turns import TRAINING, read_turns

pytestmark = pytest.mark.real


def test_each_pause_and_each_end_gets_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, turns = tmp_path / "heard.jsonl", read_turns(TRAINING, 3)
    options = ["--profile", "tiny", "--limit", "3", "--out", str(out), "--json"]
    assert hear_turns.main(options) == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["complete"] for row in rows] == [
        part == len(turn.parts) for turn in turns for part in range(1, len(turn.parts) + 1)
    ]
    assert [row["by"] for row in rows] == [turn.by for turn in turns for _ in turn.parts]
    first, whole = rows[0]["heard"].lower(), turns[0].said.lower()
    assert set(first.strip(".").split()) & set(whole.split())
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (figures["lines"], figures["turns_left_out"]) == (len(rows), 0)
