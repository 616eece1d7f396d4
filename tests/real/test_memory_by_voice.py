"""The command remembers, forgets and takes back what it is told, with a real encoder and
restarts."""

from pathlib import Path

import pytest

from tests.support.remembering import KEEPING, files_with, recalled, remarks, talk
from tests.support.talking import Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
LOCKER = "Remember that my locker code is 4471."
ASK_LOCKER = "What is my locker code?"
SHORT = "Always answer in one sentence."


def test_what_is_remembered_survives_a_restart_and_leaves_no_byte_when_undone_or_forgotten(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    first = talk(tmp_path, LOCKER, ASK_LOCKER, **scripted)
    assert remarks(first) == ["I'll remember that your locker code is 4471."]
    assert "4471" in recalled(first.of("turn")[0])
    again = talk(
        tmp_path, ASK_LOCKER, "Never forget that my bicycle is yellow.", "Undo that.", **scripted
    )
    assert "4471" in recalled(again.of("turn")[0])
    assert remarks(again) == [
        "I'll always keep in mind that your bicycle is yellow.",
        "All right, I won't keep that.",
    ]
    at_once = {"ASSISTANT_FORGET__GRACE_S": "0"}
    last = talk(tmp_path, "Forget everything about my locker.", "Yes.", **scripted, **at_once)
    assert any(text.startswith("Forgotten") for text in remarks(last))
    talk(tmp_path, **scripted)
    assert files_with(tmp_path, b" 4471", b"yellow") == []


def test_the_last_statement_is_kept_and_forget_that_means_what_was_just_stored(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    said = talk(
        tmp_path,
        "My dog is called Max.",
        "Make a note of that.",
        LOCKER,
        "Forget that.",
        "Undo that.",
        ASK_LOCKER,
        **scripted,
    )
    assert remarks(said) == [
        "I'll remember that your dog is called Max.",
        "I'll remember that your locker code is 4471.",
        "Forgotten: your locker code is 4471. Say undo to keep it.",
        "Brought back: your locker code is 4471.",
    ]
    assert "4471" in recalled(said.of("turn")[1])


def test_forget_that_means_what_was_read_out_or_just_answered(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    said = talk(
        tmp_path,
        "My dog is called Max.",
        LOCKER,
        "What do you know about my dog?",
        "Say that again.",
        "Forget that.",
        "Undo that.",
        "What do you know about my locker?",
        "When did I tell you that?",
        "Forget that.",
        "Forget that.",
        "Undo that.",
        ASK_LOCKER,
        **scripted,
    )
    known = "I remember one thing about your dog: your dog is called Max."
    locker = "Forgotten: your locker code is 4471. Say undo to keep it."
    assert remarks(said)[1:5] == [
        known,
        known,
        "Forgotten: your dog is called Max. Say undo to keep it.",
        "Brought back: your dog is called Max.",
    ]
    assert remarks(said)[7:] == [
        locker,
        "There is nothing to forget.",
        "Brought back: your locker code is 4471.",
    ]
    assert "4471" in recalled(said.of("turn")[1])
    # A real model may name another code: then the user is asked which of the two is meant.
    last = talk(
        tmp_path, ASK_LOCKER, "Forget that.", "Both of them.", ASSISTANT_FORGET__GRACE_S="0"
    )
    assert remarks(last)[-1].startswith("Forgotten: ")
    assert "your locker code is 4471" in remarks(last)[-1]
    talk(tmp_path, **scripted)
    assert files_with(tmp_path, b" 4471") == []


def test_a_wish_is_confirmed_aloud_and_taken_back(tmp_path: Path, scripted: dict[str, str]) -> None:
    with Talk(tmp_path, *TINY, "--text", env=KEEPING | scripted) as told:
        told.wait_for("memories")
        told.say(SHORT)
        noted = "Got it, from now on: always answer in one sentence. Say undo to drop that."
        assert told.wait_for("remark")["text"] == noted
        told.say("Undo that.")
        dropped = "All right, I'll no longer answer in one sentence."
        assert told.wait_for("remark")["text"] == dropped
        told.say("Undo that.")
        assert told.wait_for("remark")["text"] == "There is nothing left to bring back."
        told.say(SHORT)
        assert told.wait_for("remark")["text"] == noted, "it can be wished again"
        told.end_input()
        assert told.finish() == 0
    lifted = talk(tmp_path, "Cancel my wish about one sentence.", **scripted)
    assert remarks(lifted) == [dropped]
    assert remarks(talk(tmp_path, "Cancel my wish about one sentence.", **scripted)) == [
        "I don't know of any such instruction."
    ]


def test_off_the_record_nothing_is_remembered(tmp_path: Path, scripted: dict[str, str]) -> None:
    said = talk(tmp_path, "Off the record.", LOCKER, "Back on the record.", **scripted)
    assert "4471" not in " ".join(remarks(said))
    assert files_with(tmp_path, b" 4471") == []
