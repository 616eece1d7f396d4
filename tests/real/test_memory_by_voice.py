"""The command remembers, corrects and takes back what it is told, with real models and restarts."""

from pathlib import Path

import pytest

from tests.support.talking import REMEMBERING, Row, Talk, typed

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
KEEPING = REMEMBERING | {
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_FORGET__GRACE_S": "30",
}
LOCKER = "Remember that my locker code is 4471."
ASK_LOCKER = "What is my locker code?"
HANNAH = "My sister is called Hannah."
ASK_SISTER = "What is my sister called?"
KNOW_SISTER = "What do you know about my sister?"
SHORT = "Always answer in one sentence."


def talk(home: Path, *lines: str, **more: str) -> Talk:
    """The session after these lines were typed and answered."""
    return typed(home, *lines, env=KEEPING | more)


def remarks(talking: Talk) -> list[str]:
    return [row["text"] for row in talking.of("remark")]


def recalled(turn: Row) -> str:
    return " ".join(memory["text"] for memory in turn["memories"])


def files_with(home: Path, *words: bytes) -> list[str]:
    files = (each for each in home.rglob("*") if each.is_file())
    return [each.name for each in files if any(word in each.read_bytes() for word in words)]


def test_what_is_remembered_survives_a_restart_and_leaves_no_byte_when_undone_or_forgotten(
    tmp_path: Path,
) -> None:
    first = talk(tmp_path, LOCKER, ASK_LOCKER)
    assert remarks(first) == ["I'll remember that your locker code is 4471."]
    assert "4471" in recalled(first.of("turn")[0])
    again = talk(tmp_path, ASK_LOCKER, "Never forget that my bicycle is yellow.", "Undo that.")
    assert "4471" in recalled(again.of("turn")[0])
    assert remarks(again) == [
        "I'll always keep in mind that your bicycle is yellow.",
        "All right, I won't keep that.",
    ]
    last = talk(
        tmp_path, "Forget everything about my locker.", "Yes.", ASSISTANT_FORGET__GRACE_S="0"
    )
    assert any(text.startswith("Forgotten") for text in remarks(last))
    talk(tmp_path)
    assert files_with(tmp_path, b" 4471", b"yellow") == []


def test_the_last_statement_is_kept_and_forget_that_means_what_was_just_stored(
    tmp_path: Path,
) -> None:
    said = talk(
        tmp_path,
        "My dog is called Max.",
        "Make a note of that.",
        LOCKER,
        "Forget that.",
        "Undo that.",
        ASK_LOCKER,
    )
    assert remarks(said) == [
        "I'll remember that your dog is called Max.",
        "I'll remember that your locker code is 4471.",
        "Forgotten: your locker code is 4471. Say undo to keep it.",
        "Brought back: your locker code is 4471.",
    ]
    assert "4471" in recalled(said.of("turn")[1])


def test_that_is_what_was_read_out_and_after_a_restart_no_longer_what_was_stored(
    tmp_path: Path,
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
    # The model may name another code: then the user is asked whether that or the true one is meant.
    last = talk(
        tmp_path, ASK_LOCKER, "Forget that.", "Both of them.", ASSISTANT_FORGET__GRACE_S="0"
    )
    assert remarks(last)[-1].startswith("Forgotten: ")
    assert "your locker code is 4471" in remarks(last)[-1]
    talk(tmp_path)
    assert files_with(tmp_path, b" 4471") == []


def test_within_a_conversation_the_model_is_told_what_was_corrected(tmp_path: Path) -> None:
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


def test_a_correction_and_its_correction_hold_after_a_restart_and_are_undone(
    tmp_path: Path,
) -> None:
    talk(tmp_path, HANNAH)
    corrected = talk(
        tmp_path, KNOW_SISTER, "That's wrong, it's Anna.", "That's wrong, it's Johanna."
    )
    assert remarks(corrected) == [
        "I remember one thing about your sister: your sister is called Hannah.",
        "Got it: your sister is called Anna, not Hannah.",
        "Got it: your sister is called Johanna, not Anna.",
    ]
    asked = talk(tmp_path, ASK_SISTER)
    assert "Johanna" in recalled(asked.of("turn")[0])
    assert "called Anna" not in recalled(asked.of("turn")[0])
    undone = talk(
        tmp_path, KNOW_SISTER, "That's wrong, it's Joan.", "Undo that.", "That's wrong.", "It's Jo."
    )
    assert remarks(undone) == [
        "I remember one thing about your sister: your sister is called Johanna.",
        "Got it: your sister is called Joan, not Johanna.",
        "All right: your sister is called Johanna, as before.",
        "Sorry about that. What should it be?",
        "Got it: your sister is called Jo, not Johanna.",
    ]
    talk(tmp_path, "Forget everything about my sister.", "Yes.", ASSISTANT_FORGET__GRACE_S="0")
    talk(tmp_path)
    assert files_with(tmp_path, b"Hannah", b"called Anna", b"Johanna", b"Joan") == []


def test_nothing_of_the_memory_is_behind_a_general_answer(tmp_path: Path) -> None:
    said = talk(tmp_path, "What is the capital of Norway?", "That's wrong, it's Oslo.")
    assert remarks(said) == []
    assert len(said.of("turn")) == 2


def test_a_wish_is_confirmed_aloud_and_taken_back(tmp_path: Path) -> None:
    with Talk(tmp_path, *TINY, "--text", env=KEEPING) as told:
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
    lifted = talk(tmp_path, "Cancel my wish about one sentence.")
    assert remarks(lifted) == [dropped]
    assert remarks(talk(tmp_path, "Cancel my wish about one sentence.")) == [
        "I don't know of any such wish."
    ]


def test_off_the_record_nothing_is_remembered(tmp_path: Path) -> None:
    said = talk(tmp_path, "Off the record.", LOCKER, "Back on the record.")
    assert "4471" not in " ".join(remarks(said))
    assert files_with(tmp_path, b" 4471") == []
