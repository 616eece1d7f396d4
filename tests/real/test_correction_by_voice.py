"""The command corrects what it remembers, with a real encoder and restarts."""

from pathlib import Path

import pytest

from tests.support.remembering import files_with, recalled, remarks, talk

pytestmark = pytest.mark.real

HANNAH = "My sister is called Hannah."
ASK_SISTER = "What is my sister called?"
KNOW_SISTER = "What do you know about my sister?"


def test_within_a_conversation_the_model_is_told_what_was_corrected(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    corrected = talk(
        tmp_path,
        HANNAH,
        "That's wrong, she's called Anna.",
        ASK_SISTER,
        "That's wrong, my sister is called Johanna.",
        "Thanks.",
        "Undo that.",
        "Yes.",
        ASK_SISTER,
        **scripted,
    )
    assert remarks(corrected) == [
        "Got it: your sister is called Anna, not Hannah.",
        "Got it: your sister is called Johanna, not Anna.",
        "The last thing I did was note that your sister is called Johanna. Shall I undo that?",
        "All right: your sister is called Anna, as before.",
    ]
    _, anna, thanks, again = (recalled(turn) for turn in corrected.of("turn"))
    assert anna == again == "My sister is called Anna."
    assert thanks == "My sister is called Johanna."


def test_a_corrected_correction_holds_after_a_restart_and_a_later_one_is_undone(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    talk(tmp_path, HANNAH, **scripted)
    corrected = talk(
        tmp_path,
        KNOW_SISTER,
        "That's wrong, it's Anna.",
        "That's wrong, it's Johanna.",
        **scripted,
    )
    assert remarks(corrected) == [
        "I remember one thing about your sister: your sister is called Hannah.",
        "Got it: your sister is called Anna, not Hannah.",
        "Got it: your sister is called Johanna, not Anna.",
    ]
    asked = talk(tmp_path, ASK_SISTER, **scripted)
    assert "Johanna" in recalled(asked.of("turn")[0])
    assert "called Anna" not in recalled(asked.of("turn")[0])
    undone = talk(
        tmp_path,
        KNOW_SISTER,
        "That's wrong, it's Joan.",
        "Undo that.",
        "That's wrong.",
        "It's Jo.",
        **scripted,
    )
    assert remarks(undone) == [
        "I remember one thing about your sister: your sister is called Johanna.",
        "Got it: your sister is called Joan, not Johanna.",
        "All right: your sister is called Johanna, as before.",
        "Sorry about that. What should it be?",
        "Got it: your sister is called Jo, not Johanna.",
    ]
    at_once = {"ASSISTANT_FORGET__GRACE_S": "0"}
    talk(tmp_path, "Forget everything about my sister.", "Yes.", **scripted, **at_once)
    talk(tmp_path, **scripted)
    assert files_with(tmp_path, b"Hannah", b"called Anna", b"Johanna", b"Joan") == []


def test_a_general_answer_is_not_corrected_in_the_memory(tmp_path: Path) -> None:
    said = talk(tmp_path, "What is the capital of Norway?", "That's wrong, it's Oslo.")
    assert remarks(said) == []
    assert len(said.of("turn")) == 2
