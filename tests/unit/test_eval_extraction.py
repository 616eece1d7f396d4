"""How extraction is measured, and that the rules find only what was said."""

import json
from pathlib import Path

import pytest

from data import located
from scripts.eval.extraction import DATA, Judge, extracted, wrong
from scripts.eval.extraction_score import read_rows, score
from scripts.eval_extraction import main
from tests.support.scripted_model import ScriptedModel

ROWS = read_rows(located(DATA))


async def test_the_rules_invent_nothing_on_either_part() -> None:
    predicted, _ = await extracted(ROWS, None)
    result = score(ROWS, predicted)
    for tally in (result.parts["a"], result.parts["b"]):
        assert tally.predicted > 50
        assert tally.unsupported_share <= 0.02
        assert tally.from_assistant == tally.misquoted == 0


async def test_a_model_judges_each_statement_that_the_rules_find_only_once(tmp_path: Path) -> None:
    cache = tmp_path / "answers.jsonl"
    rows = [row for row in ROWS if row.id in ("e001", "e023")]
    llm = ScriptedModel(['{"worth": "much"}', '{"worth": "no"}', '{"worth": "some"}', "rubbish"])
    judge = Judge(llm, cache)
    predicted, _ = await extracted(rows, judge)
    assert [len(predicted[row.id]) for row in rows] == [1, 1]
    assert (judge.asked, judge.failed) == (3, 0)
    again = Judge(ScriptedModel(["rubbish"]), cache)
    assert (await extracted(rows, again))[0] == predicted
    assert again.asked == 0
    assert wrong(rows, predicted) != []


def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules", "--part", "a", "--limit", "9", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["utterances"] == 9
    assert figures["unsupported"] == 0
