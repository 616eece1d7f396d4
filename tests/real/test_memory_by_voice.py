"""The command remembers, forgets and takes back what it is told, with a real encoder and
restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.remembering import KEEPING, files_with, recalled, remarks, talk
from tests.support.talking import Row, Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
LOCKER = "Remember that my locker code is 4471."
ASK_LOCKER = "What is my locker code?"
SHORT = "Always answer in one sentence."
CANCEL = "Cancel my wish about one sentence."
NOTED = "Got it, from now on: always answer in one sentence. Say undo to drop that."
DROPPED = "All right, I'll no longer answer in one sentence."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def session(home: Path, scripted: dict[str, str]) -> Iterator[Talk]:
    """A session in which several tests talk, each about something else."""
    with Talk(home, *TINY, "--text", env=KEEPING | scripted) as talk:
        talk.wait_for("memories")
        yield talk


def replies(session: Talk, *lines: str) -> list[Row]:
    """The turn or the remark with which each of these lines is answered."""
    rows = []
    for line in lines:
        session.say(line)
        session.wait_for_reply()
        rows.append(session.rows[-1])
    return rows


def test_what_is_remembered_survives_a_restart_and_leaves_no_byte_when_undone_or_forgotten(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    """So does a wish."""
    first = talk(tmp_path, SHORT, "Undo that.", "Undo that.", SHORT, LOCKER, ASK_LOCKER, **scripted)
    assert remarks(first) == [
        NOTED,
        DROPPED,
        "There is nothing left to bring back.",
        NOTED,  # it can be wished again
        "I'll remember that your locker code is 4471.",
    ]
    assert "4471" in recalled(first.of("turn")[-1])
    again = talk(
        tmp_path,
        ASK_LOCKER,
        "Never forget that my bicycle is yellow.",
        "Undo that.",
        CANCEL,
        **scripted,
    )
    assert "4471" in recalled(again.of("turn")[0])
    assert remarks(again) == [
        "I'll always keep in mind that your bicycle is yellow.",
        "All right, I won't keep that.",
        DROPPED,
    ]
    at_once = {"ASSISTANT_FORGET__GRACE_S": "0"}
    with Talk(tmp_path, *TINY, "--text", env=KEEPING | scripted | at_once) as last:
        last.wait_for("memories")
        unknown, *_ = replies(last, CANCEL, "Forget everything about my locker.", "Yes.")
        assert unknown["text"] == "I don't know of any such instruction."
        locker = last.of("forgetting")[-1]["id"]  # an earlier wish may become due, too
        assert last.wait_for("forgotten", id=locker)["clean"]
        last.end_input()
        assert last.finish() == 0
    assert any(text.startswith("Forgotten") for text in remarks(last))
    assert files_with(tmp_path, b" 4471", b"yellow") == []


def test_the_last_statement_is_kept_and_forget_that_means_what_was_just_stored(
    session: Talk,
) -> None:
    lines = ("My dog is called Max.", "Make a note of that.", LOCKER, "Forget that.", "Undo that.")
    _, *said, answered = replies(session, *lines, ASK_LOCKER)
    assert [row.get("text") for row in said] == [
        "I'll remember that your dog is called Max.",
        "I'll remember that your locker code is 4471.",
        "Forgotten: your locker code is 4471. Say undo to keep it.",
        "Brought back: your locker code is 4471.",
    ]
    assert "4471" in recalled(answered)


def test_forget_that_means_what_was_read_out(session: Talk) -> None:
    lines = (
        "My cat is called Bella.",
        "Remember that my bank card ends in 9032.",
        "What do you know about my cat?",
        "Say that again.",
        "Forget that.",
        "Undo that.",
        "What do you know about my bank card?",
        "When did I tell you that?",
        "Forget that.",
        "Forget that.",
        "Undo that.",
        "How does my bank card end?",
    )
    said = replies(session, *lines)
    known = "I remember one thing about your cat: your cat is called Bella."
    assert [row.get("text") for row in said[2:6]] == [
        known,
        known,
        "Forgotten: your cat is called Bella. Say undo to keep it.",
        "Brought back: your cat is called Bella.",
    ]
    assert [row.get("text") for row in said[8:11]] == [
        "Forgotten: your bank card ends in 9032. Say undo to keep it.",
        "There is nothing to forget.",
        "Brought back: your bank card ends in 9032.",
    ]
    assert "9032" in recalled(said[-1])


def test_off_the_record_nothing_is_remembered(session: Talk, home: Path) -> None:
    lines = ("Off the record.", "Remember that my gym code is 5582.", "Back on the record.")
    assert all("5582" not in row.get("text", "") for row in replies(session, *lines))
    session.end_input()
    assert session.finish() == 0
    assert files_with(home, b" 5582") == []
