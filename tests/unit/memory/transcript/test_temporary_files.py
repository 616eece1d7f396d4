"""SQLite's temporary data contains words and is never written to a file."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.encryption.conversion import convert
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.memory import HomeStores, home_copy
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.memories import NOW

IN_RAM = 2
"""The value of `PRAGMA temp_store` that means main memory."""
KEY = MasterKey(bytes(range(32)))


def where(db: sqlite3.Connection) -> int:
    (found,) = db.execute("PRAGMA temp_store").fetchone()
    return int(found)


def unlinked() -> set[tuple[int, int]]:
    """Open files that have no name, like SQLite's temporary files."""
    found = set()
    for path in list(Path("/dev/fd").iterdir()):
        try:
            file = os.fstat(int(path.name))
        except OSError:  # the descriptor of the listing itself
            continue
        if stat.S_ISREG(file.st_mode) and not file.st_nlink:
            found.add((file.st_dev, file.st_ino))
    return found


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_a_transcript_sorts_in_ram(home: Home, key: MasterKey | None) -> None:
    with closing(Transcript.open(home.transcript, key)) as transcript:
        with transcript.reading() as db:
            assert where(db) == IN_RAM
        transcript.rewrite()
        with transcript.reading() as db:
            assert where(db) == IN_RAM


def test_a_conversion_compares_in_ram(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    Transcript.open(home.transcript).close()
    seen: list[int] = []
    compared = home_copy._equal

    def equal(db: sqlite3.Connection) -> bool:
        seen.append(where(db))
        return compared(db)

    monkeypatch.setattr(home_copy, "_equal", equal)
    convert(home, HomeStores(home, Settings()), None, KEY, KeyFile.locked(KEY, "keyring", "0" * 64))
    assert seen == [IN_RAM]


def test_a_large_read_writes_no_temporary_file(tmp_path: Path) -> None:
    """The query sorts more than SQLite's own buffers hold."""
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        talk = Conversation.begin("ada")
        for turn in range(1, 1_001):
            talk.append_user(turn, "The silver parrot sleeps. " * 400, NOW)
            talk.complete(turn, "I see.")
        with transcript.writing() as db:
            db.execute("INSERT INTO conversation VALUES (?, 'ada', 0)", (talk.id,))
            db.executemany(
                "INSERT INTO exchange VALUES (?, ?, ?, 'ada', 0, 0, ?, '', 0, '{}', '[]')",
                [(each.id, talk.id, each.turn, each.user_text) for each in talk.exchanges],
            )
        with transcript.reading() as db:
            before = unlinked()
            rows = db.execute("SELECT user_text FROM exchange ORDER BY id || user_text")
            assert "parrot" in rows.fetchone()[0]
            assert unlinked() == before
            rows.close()
