"""The command corrects what it remembers, with a real encoder and restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import model_server
from tests.support.remembering import KEEPING, files_with, recalled, remarks, talk
from tests.support.talking import Talk

pytestmark = pytest.mark.real

HANNAH = "My sister is called Hannah."
ASK_SISTER = "What is my sister called?"
KNOW_SISTER = "What do you know about my sister?"


@pytest.fixture(scope="module")
def answering() -> Iterator[dict[str, str]]:
    """Variables for an assistant with a model that is wrong about Norway."""

    def answer(newest: str) -> str:
        return "The capital of Norway is Bergen." if "Norway" in newest else "I see."

    with model_server(answer) as endpoint:
        yield {"ASSISTANT_LLM__ENDPOINT": endpoint}


def test_within_a_conversation_the_model_is_told_what_was_corrected(
    tmp_path: Path, answering: dict[str, str]
) -> None:
    """A general answer is not corrected in the memory."""
    corrected = talk(
        tmp_path,
        "What is the capital of Norway?",
        "That's wrong, it's Oslo.",
        HANNAH,
        "That's wrong, she's called Anna.",
        ASK_SISTER,
        "That's wrong, my sister is called Johanna.",
        "Thanks.",
        "Undo that.",
        "Yes.",
        ASK_SISTER,
        **answering,
    )
    assert remarks(corrected) == [
        "Got it: your sister is called Anna, not Hannah.",
        "Got it: your sister is called Johanna, not Anna.",
        "The last thing I did was note that your sister is called Johanna. Shall I undo that?",
        "All right: your sister is called Anna, as before.",
    ]
    general, oslo, _, anna, thanks, again = corrected.of("turn")
    assert general["assistant"] == "The capital of Norway is Bergen."
    assert oslo["user"] == "That's wrong, it's Oslo."
    assert recalled(anna) == recalled(again) == "My sister is called Anna."
    assert recalled(thanks) == "My sister is called Johanna."


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
    at_once = {"ASSISTANT_FORGET__GRACE_S": "0"}
    with Talk(tmp_path, "--profile", "tiny", "--text", env=KEEPING | scripted | at_once) as undone:
        undone.wait_for("memories")
        for line in (
            ASK_SISTER,
            KNOW_SISTER,
            "That's wrong, it's Joan.",
            "Undo that.",
            "That's wrong.",
            "It's Jo.",
            "Forget everything about my sister.",
            "Yes.",
        ):
            undone.say(line)
            undone.wait_for_reply()
        last = undone.of("forgetting")[-1]["id"]  # a correction that is undone is forgotten, too
        assert undone.wait_for("forgotten", id=last)["clean"]
        undone.end_input()
        assert undone.finish() == 0
    assert "Johanna" in recalled(undone.of("turn")[0])
    assert "called Anna" not in recalled(undone.of("turn")[0])
    assert remarks(undone)[:5] == [
        "I remember one thing about your sister: your sister is called Johanna.",
        "Got it: your sister is called Joan, not Johanna.",
        "All right: your sister is called Johanna, as before.",
        "Sorry about that. What should it be?",
        "Got it: your sister is called Jo, not Johanna.",
    ]
    assert files_with(tmp_path, b"Hannah", b"called Anna", b"Johanna", b"Joan") == []
