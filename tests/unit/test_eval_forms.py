"""How the filling of forms is measured."""

import json
from pathlib import Path

import pytest

from assistant.forms import FormLibrary, FormReader
from data import located
from models.interfaces import LanguageModel
from scripts.common.rows import InputUnusable
from scripts.eval.form_dialogues import DATA, Gold, is_right, read_dialogues
from scripts.eval.forms import OWN_FORMS, Filler, figures, mistakes
from scripts.eval_forms import main
from tests.support.scripted_model import ScriptedModel
from tests.support.slot_reader import MarkedReader

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
MARKED = (
    "{since: since last Tuesday}",
    "{severity: a six}",
    "actually it's been {since: since Sunday}",
)
"""What the reader finds in it."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "dialogues.jsonl"
    made.write_text(json.dumps(TALK), "utf-8")
    return made


def filler(llm: LanguageModel | None = None) -> Filler:
    reader = MarkedReader()
    for each in MARKED:
        reader.mark(each)
    return Filler(LIBRARY, FormReader(reader), llm)


async def test_what_is_in_the_form_at_the_end_is_compared_with_what_should_be(file: Path) -> None:
    [talk] = read_dialogues(file, LIBRARY, "dev")
    done = await filler().filled(talk)
    assert done.values == {"since": "2026-03-15", "severity": 6}
    found = figures([done])
    assert found["slots"] == 3
    assert (found["missing"], found["wrong"], found["filled_though_not_said"]) == (1, 0, 0)
    assert (found["lost"], found["changed_without_trace"]) == (0, 0)
    assert found["without_model"] == 0.6
    assert found["block_tokens_max"] == 0
    assert mistakes([done]) == ["1 reason: None, not ['dizzy']"]


async def test_a_dialogue_may_take_place_on_any_day(file: Path) -> None:
    file.write_text(json.dumps(TALK | {"today": "2126-03-20"}), "utf-8")
    [talk] = read_dialogues(file, LIBRARY, "dev")
    done = await filler().filled(talk)
    assert done.values == {"since": "2126-03-17", "severity": 6}


async def test_a_language_model_counts_the_tokens_of_what_it_is_shown(file: Path) -> None:
    [talk] = read_dialogues(file, LIBRARY, "dev")
    llm = ScriptedModel()
    assert figures([await filler(llm).filled(talk)])["block_tokens_max"] > 0
    assert llm.requests == []


async def test_a_slot_that_should_be_empty_is_counted(file: Path) -> None:
    row = {**TALK, "slots": {"since": "2026-03-15", "reason": ["dizzy"]}}
    file.write_text(json.dumps(row), "utf-8")
    [talk] = read_dialogues(file, LIBRARY, None)
    assert figures([await filler().filled(talk)])["filled_though_not_said"] == 1


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
    assert parts.count("dev") == 24
    assert parts.count("test") == 6
    assert parts.count("final") == parts.count("natural") == 12


def test_nobody_is_shown_what_is_wrong_in_the_part_for_testing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--part", "test", "--mistakes"]) == 2
    assert "only" in capsys.readouterr().err
