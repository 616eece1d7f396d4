"""How the filling of forms is measured."""

import json
from pathlib import Path

import pytest

from assistant.forms.definition import FormLibrary
from data import located
from scripts.common.rows import InputUnusable
from scripts.eval.asking import Answers, Remembered
from scripts.eval.form_dialogues import DATA, Gold, is_right, read_dialogues
from scripts.eval.forms import OWN_FORMS, Filler, figures, mistakes
from scripts.eval_forms import main
from tests.support.scripted_model import ScriptedModel

LIBRARY = FormLibrary(OWN_FORMS)
TALK = {
    "form": "medical_intake",
    "part": "dev",
    "today": "2026-03-18",
    "turns": [
        {"asked": "since", "assistant": "Since when?", "user": "since last Tuesday"},
        {"asked": "severity", "assistant": "How bad is it?", "user": "a six"},
        {"assistant": "I see.", "user": "my neighbour has a temperature of thirty nine"},
        {"assistant": "Oh.", "user": "actually it's been since Sunday"},
        {"asked": "reason", "assistant": "Why?", "user": "oh it's that I keep getting dizzy"},
    ],
    "slots": {"since": "2026-03-15", "severity": 6, "reason": ["dizzy"]},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "dialogues.jsonl"
    made.write_text(json.dumps(TALK), "utf-8")
    return made


async def test_rules_alone_fill_what_is_surely_meant(file: Path) -> None:
    [talk] = read_dialogues(file, LIBRARY, "dev")
    done = await Filler(LIBRARY, None).filled(talk)
    assert done.values == {"since": "2026-03-15", "severity": 6}
    found = figures([done])
    assert found["slots"] == 3
    assert (found["missing"], found["wrong"], found["filled_though_not_said"]) == (1, 0, 0)
    assert (found["lost"], found["changed_without_trace"]) == (0, 0)
    assert found["without_model"] == 1
    assert mistakes([done]) == ["1 reason: None, not ['dizzy']"]


async def test_a_model_fills_what_the_rules_leave(file: Path, tmp_path: Path) -> None:
    [talk] = read_dialogues(file, LIBRARY, "dev")
    llm = ScriptedModel(['{"words": ["I keep getting dizzy"]}'])
    cached = Remembered(llm, Answers(tmp_path / "answers.jsonl"))
    found = figures([await Filler(LIBRARY, cached).filled(talk)])
    assert found["right"] == 1
    assert found["without_model"] == 0.8
    assert found["block_tokens_max"] > 0
    asked_again = Remembered(ScriptedModel(["rubbish"]), Answers(tmp_path / "answers.jsonl"))
    assert figures([await Filler(LIBRARY, asked_again).filled(talk)])["right"] == 1
    assert asked_again.asked == 0


async def test_a_slot_that_should_be_empty_is_counted(file: Path) -> None:
    row = {**TALK, "slots": {"since": "2026-03-15", "reason": ["dizzy"]}}
    file.write_text(json.dumps(row), "utf-8")
    [talk] = read_dialogues(file, LIBRARY, None)
    assert figures([await Filler(LIBRARY, None).filled(talk)])["filled_though_not_said"] == 1


@pytest.mark.parametrize(
    ("value", "gold", "right"),
    [
        ("my left knee", ["knee|leg"], True),
        ("my left knee", ["knee", "stairs"], False),
        ("unknown", "unknown", True),
        ("unknown", ["unknown"], False),
        (["two eggs", "milk"], ["milk", "egg"], True),
        (["eggs", "milk", "bread"], ["milk", "egg"], False),
        ([], [], True),
        (None, [], False),
        (True, 1, False),
        (6, 6, True),
        ("10:30", "10:30", True),
    ],
)
def test_values_are_compared_as_the_labels_mean(
    value: str | float | bool | list[str] | None, gold: Gold, right: bool
) -> None:
    assert is_right(value, gold) is right


@pytest.mark.parametrize(
    "change", [{"form": "tax"}, {"slots": {"colour": "red"}}, {"today": "tomorrow"}, {"part": "x"}]
)
def test_unusable_dialogues_are_reported(file: Path, change: dict[str, object]) -> None:
    file.write_text(json.dumps({**TALK, **change}), "utf-8")
    with pytest.raises(InputUnusable):
        read_dialogues(file, LIBRARY, "dev")


def test_the_shipped_dialogues_are_well_formed() -> None:
    parts = [each.part for each in read_dialogues(located(DATA), LIBRARY, None)]
    assert parts.count("dev") == parts.count("test") == 6


def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--limit", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["dialogues"], found["model"]) == (2, None)
    assert found["filled_though_not_said"] == found["lost"] == 0


def test_nobody_is_shown_what_is_wrong_in_the_part_for_testing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--part", "test", "--mistakes"]) == 2
    assert "only" in capsys.readouterr().err
