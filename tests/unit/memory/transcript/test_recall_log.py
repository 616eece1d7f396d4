"""The log of recalls: written with each exchange, read back from files of every version."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import MemoryUsed
from assistant.memory.transcript import recall_log
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.migrations import FIRST
from assistant.memory.transcript.recall_log import LoggedMemory

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
USED = (MemoryUsed("dog", "My dog is called Max.", 0.91234), MemoryUsed("cat", "A cat.", 0.7))
MISSED = (("fish", 0.49999, "not close enough"), ("bird", 0.4, "over budget"))
DOG, CAT = LoggedMemory("dog", 0.9123), LoggedMemory("cat", 0.7)
FISH = LoggedMemory("fish", 0.5, "not close enough")
BIRD = LoggedMemory("bird", 0.4, "over budget")


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


def say(transcript: Transcript, user: str = "ada") -> str:
    talk = Conversation.begin(user)
    talk.append_user(1, "Hello?", NOW)
    exchange = talk.complete(1, "Hi.", ended=NOW)
    transcript.store(talk, exchange, None, USED, MISSED)
    return exchange.id


def test_the_log_is_read_back_without_any_words(transcript: Transcript) -> None:
    key = say(transcript)
    assert recall_log.read(transcript, "ada", [key]) == {key: (DOG, CAT, FISH, BIRD)}
    assert recall_log.read(transcript, "bob", [key]) == {}, "another user's log is not readable"
    assert recall_log.read(transcript, "ada", ["unknown"]) == {}
    assert not any("Max" in text for text in transcript.texts())


def test_a_memory_is_removed_from_all_logs_of_its_user(transcript: Transcript) -> None:
    keys = [say(transcript) for _ in range(3)]
    other = say(transcript, "bob")
    assert recall_log.remove(transcript, "ada", {"dog", "bird"}.__contains__)
    assert recall_log.read(transcript, "ada", keys) == dict.fromkeys(keys, (CAT, FISH))
    assert recall_log.read(transcript, "bob", [other]) == {other: (DOG, CAT, FISH, BIRD)}
    assert not recall_log.remove(transcript, "ada", {"dog", "bird"}.__contains__)
    assert recall_log.read(transcript, "ada", keys) == dict.fromkeys(keys, (CAT, FISH))


def test_ids_that_json_escapes_and_ids_in_damaged_logs_are_removed(transcript: Transcript) -> None:
    whole, damaged = say(transcript), say(transcript)
    with transcript.writing() as db:
        content = json.dumps([['the "dog"', 0.5], ["cat", 0.7]])
        db.execute("UPDATE exchange SET memories = ? WHERE id = ?", (content, whole))
        db.execute("UPDATE exchange SET memories = '[[\"fish\", ' WHERE id = ?", (damaged,))
    assert recall_log.remove(transcript, "ada", {'the "dog"', "fish"}.__contains__)
    assert recall_log.read(transcript, "ada", [whole])[whole] == (CAT,)
    assert not any("fish" in text or "dog" in text for text in transcript.texts())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[]", ()),
        ('[["dog", 0.9123], ["cat", 0.7]]', (DOG, CAT)),
        ('[["dog", 0.9123], ["fish", 0.5, "not close enough"]]', (DOG, FISH)),
        ('[["dog", 0.9123], ["cat"], "x", null, ["a", "b"], ["a", 1, 2], [1, 2]]', (DOG,)),
        ("{", ()),
        ('{"dog": 1}', ()),
    ],
)
def test_logs_of_every_version_and_damaged_ones_are_read(
    transcript: Transcript, content: str, expected: tuple[LoggedMemory, ...]
) -> None:
    key = say(transcript)
    with transcript.writing() as db:
        db.execute("UPDATE exchange SET memories = ?", (content,))
    assert recall_log.read(transcript, "ada", [key]) == {key: expected}
    recall_log.remove(transcript, "ada", {"cat"}.__contains__)
    left = tuple(each for each in expected if each != CAT)
    assert recall_log.read(transcript, "ada", [key]) == {key: left}


def test_a_transcript_from_before_the_log_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "transcript.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        for statement in FIRST:
            db.execute(statement)
        db.execute("INSERT INTO conversation VALUES ('c', 'ada', 0)")
        db.execute(
            "INSERT INTO exchange VALUES ('old', 'c', 1, 'ada', 0, 1, 'Hello?', 'Hi.', 0, '{}')"
        )
        db.execute("PRAGMA user_version = 1")
        db.commit()
    with closing(Transcript.open(path)) as transcript:
        assert recall_log.read(transcript, "ada", ["old"]) == {"old": ()}
        new = say(transcript)
        assert recall_log.read(transcript, "ada", ["old", new])[new] == (DOG, CAT, FISH, BIRD)
