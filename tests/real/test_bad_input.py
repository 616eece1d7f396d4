"""The whole assistant copes with strange input, a full disk, a folder that can't be written, a
store of a newer version, a clock that was set back, and a second assistant. It answers, reports
each failure in one sentence, and loses nothing."""

import resource
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.memory.store import open_table
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.talking import Row, Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny", "--text")
REMEMBERING = {
    "ASSISTANT_MEMORY__ENABLED": "true",
    "ASSISTANT_MEMORY__DEADLINE_MS": "5000",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_LLM__TIMEOUT_S": "300",
    "ASSISTANT_LLM__CONTEXT_TOKENS": "640",  # limits how much of the megabyte is read
}
TOO_LONG = "That was too long to read in full; I used its beginning and its end."
NAMED = ("dog is called Max", "cat is called Kim", "fish is called Tom", "bird is called Pip")
MEGABYTE = "My dog is called Max. " * 50_000
LINES: tuple[tuple[bytes, str], ...] = (
    (b"?!... ---", "?!... ---"),
    ("🐶🐶👩‍👩‍👧‍👦 🎉".encode(), "🐶🐶👩‍👩‍👧‍👦 🎉"),
    ("שלום, הכלב שלי נקרא מקס \u202e كلبي".encode(), "שלום, הכלב שלי נקרא מקס \u202e كلبي"),
    (b"a NUL \x00 byte", "a NUL \x00 byte"),
    (b"not UTF-8: \xff\xfe and half a pair: \xed\xa0\x80.", ""),
    (MEGABYTE.encode(), MEGABYTE.strip()),
    (b"<|im_start|>system\r", "<|im_start|>system"),
)
"""Bytes of a typed line, and the text that is stored; empty if it differs from the input."""


def kept(home: Path) -> list[str]:
    """The user's words in the transcript."""
    transcript = Transcript.open(Home(home).transcript)
    found = [
        each.user_text for _, each in transcript.exchanges("me", transcript.exchange_ids("me"))
    ]
    transcript.close()
    return found


def troubles(talk: Talk) -> list[Row]:
    return [row for row in talk.of("notice") if row["severity"] != "info"] + talk.of("error")


def test_any_typed_input_is_answered_and_stored(tmp_path: Path) -> None:
    with Talk(tmp_path, *TINY, env=REMEMBERING) as talk:
        talk.wait_for("memories")
        stdin = talk.process.stdin
        assert isinstance(stdin, TextIOWrapper)
        for line, _ in ((b"", ""), (b"  \t ", ""), *LINES):
            stdin.buffer.write(line + b"\n")
        stdin.buffer.flush()
        for _ in LINES:
            talk.wait_for("turn")
        talk.end_input()
        assert talk.finish() == 0
    assert [row["text"] for row in troubles(talk)] == [TOO_LONG]
    assert len(talk.of("turn")) == len(LINES)
    said = kept(tmp_path)
    assert len(said) == len(LINES)
    for found, (_, expected) in zip(said, LINES, strict=True):
        assert found == expected or (not expected and found.startswith("not UTF-8: \ufffd"))


def forbid_writing(folder: Path, *, undo: bool = False) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o700 if undo else 0o500)


def test_disk_errors_are_reported_and_lose_nothing(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    unlimited = resource.RLIM_INFINITY
    with Talk(tmp_path, *TINY, env=REMEMBERING | scripted, limited=True) as talk:
        talk.wait_for("memories")
        talk.say("My dog is called Max.")
        talk.wait_for("turn")
        talk.settle(2.0)  # the exchange is in the memory store as well
        resource.prlimit(talk.process.pid, resource.RLIMIT_FSIZE, (100, unlimited))
        talk.say("My cat is called Kim.")
        talk.wait_for("notice", severity="error")
        resource.prlimit(talk.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        talk.say("My fish is called Tom.")
        talk.wait_for("notice", text="The conversation can be stored again.")
        memories = Home(tmp_path).memories
        forbid_writing(memories)
        talk.say("My bird is called Pip.")
        talk.wait_for("notice", text=f"The memory store {memories} can't be written.")
        forbid_writing(memories, undo=True)
        talk.wait_for("notice", text="Memories can be stored again.")
        talk.end_input()
        assert talk.finish() == 0
    full = [row["text"] for row in talk.of("notice") if row["severity"] == "error"]
    assert len(full) == 1
    assert "quota is used up" in full[0]
    expected = [f"My {it}." for it in NAMED]
    assert kept(tmp_path) == expected
    with closing(MemoryTable.open(str(memories))) as table:
        found = [each for batch in table.scan("me") for each in batch.memories()]
    assert [each.text for each in found if each.speaker == "user"] == expected


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_store_of_a_newer_version_is_reported_and_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted: dict[str, str]
) -> None:
    memories = Home(tmp_path).memories
    with monkeypatch.context() as newer:
        newer.setattr(open_table, "MIGRATIONS", (*open_table.MIGRATIONS, lambda _: None))
        MemoryTable.open(str(memories)).close()
    before = contents(memories / "memories.lance")
    assert before
    with Talk(tmp_path, *TINY, env=REMEMBERING | scripted) as talk:
        said = f"The memory store {memories} was written by a newer version of this program."
        talk.wait_for("notice", text=said)
        talk.say("My dog is called Max.")
        talk.wait_for("turn")
        talk.end_input()
        assert talk.finish() == 0
    assert [row["text"] for row in troubles(talk)] == [said]
    assert kept(tmp_path) == ["My dog is called Max."]
    assert contents(memories / "memories.lance") == before


def test_a_clock_that_was_set_back_loses_nothing(tmp_path: Path, scripted: dict[str, str]) -> None:
    """Exchanges from before the change now have dates in the future."""
    talked = Conversation.begin("me")
    future = datetime.now(UTC) + timedelta(days=400)
    talked.append_user(1, "My dog is called Max.", future)
    transcript = Transcript.open(Home(tmp_path).transcript)
    transcript.store(talked, talked.complete(1, "I see.", ended=future))
    transcript.close()
    with Talk(tmp_path, *TINY, env=REMEMBERING | scripted) as talk:
        assert talk.wait_for("memories")["count"] == 2
        talk.say("My cat is called Kim.")
        talk.wait_for("turn")
        talk.say("What is my dog called?")
        found = [each["text"] for each in talk.wait_for("turn")["memories"]]
        talk.end_input()
        assert talk.finish() == 0
    assert troubles(talk) == []
    assert "My dog is called Max." in found
    assert set(kept(tmp_path)) == {
        "My dog is called Max.",
        "My cat is called Kim.",
        "What is my dog called?",
    }


def test_a_second_assistant_may_not_write_the_same_store_and_continues_without_it(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    store = tmp_path / "store"
    shared = REMEMBERING | scripted | {"ASSISTANT_MEMORY__STORE": str(store)}
    with Talk(tmp_path / "first", *TINY, env=shared) as first:
        first.wait_for("memories")
        for home in ("first", "second"):
            with Talk(tmp_path / home, *TINY, env=shared) as other:
                told = other.wait_for("notice")["text"]
                process = f"(process {first.process.pid})"
                assert told == f"The memory store {store} is in use by another assistant {process}."
                other.say("My cat is called Kim.")
                other.wait_for("turn")
                other.end_input()
                assert other.finish() == 0
            assert len(troubles(other)) == 1
        first.say("My dog is called Max.")
        first.wait_for("turn")
        first.end_input()
        assert first.finish() == 0
    assert troubles(first) == []
    assert kept(tmp_path / "second") == ["My cat is called Kim."]
    assert set(kept(tmp_path / "first")) == {"My cat is called Kim.", "My dog is called Max."}
