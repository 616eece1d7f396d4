"""The encrypted transcript works as usual, and nothing in its files is readable."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Exchange
from assistant.encryption.keys import MasterKey
from assistant.encryption.sealed_sqlite import SEALED_HEADER
from assistant.errors import StoreError, StoreLocked
from assistant.memory.transcript.database import Transcript
from tests.support.memories import NOW

KEY = MasterKey(bytes(range(32)))
WEEK = timedelta(days=7)


def stored(transcript: Transcript, turn: int, said: str = "Xylophone lessons.") -> Exchange:
    talk = Conversation.begin("ada")
    talk.append_user(turn, said, NOW)
    exchange = talk.complete(turn, "Marvellous glockenspiel!")
    transcript.store(talk, exchange)
    return exchange


def files(folder: Path) -> bytes:
    """The contents of all files, including the log."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_no_text_is_readable_while_the_transcript_is_open_or_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite3"
    with closing(Transcript.open(path, KEY)) as transcript:
        exchanges = [stored(transcript, turn) for turn in range(1, 40)]
        assert (tmp_path / "t.sqlite3-wal").stat().st_size > 0
        for words in (b"Xylophone", b"glockenspiel", b"CREATE TABLE"):
            assert words not in files(tmp_path)
    assert path.read_bytes()[:16] == SEALED_HEADER
    assert b"ylophone" not in files(tmp_path)

    with closing(Transcript.open(path, KEY)) as transcript:
        found = dict.fromkeys(e for _, e in transcript.exchanges("ada", {e.id for e in exchanges}))
        assert [e.id for e in found] == [e.id for e in exchanges]
        assert transcript.delete_exchanges("ada", [exchanges[0].id]) == 1
        assert len(transcript.exchange_ids("ada")) == 38


@pytest.mark.parametrize("key", [None, MasterKey(bytes(32))])
def test_an_encrypted_transcript_opens_only_with_its_key(
    tmp_path: Path, key: MasterKey | None
) -> None:
    path = tmp_path / "t.sqlite3"
    with closing(Transcript.open(path, KEY)) as transcript:
        stored(transcript, 1)
    before = files(tmp_path)

    with pytest.raises(StoreLocked, match="nothing was touched"):
        Transcript.open(path, key)

    assert files(tmp_path) == before


def test_an_unencrypted_file_is_not_opened_with_a_key(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite3"
    Transcript.open(path).close()
    with pytest.raises(StoreLocked, match="is not encrypted"):
        Transcript.open(path, KEY)


def test_damage_is_not_reported_as_a_wrong_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.sqlite3"
    with closing(Transcript.open(path, KEY)) as transcript:
        for turn in range(1, 200):
            stored(transcript, turn)
    whole = bytearray(path.read_bytes())
    last = len(whole) * 3 // 4 // 4096 * 4096  # the tables' names come earlier
    for page in range(last, len(whole), 4096):
        whole[page + 99] ^= 1
    path.write_bytes(whole)

    with (
        closing(Transcript.open(path, KEY)) as transcript,
        pytest.raises(StoreError, match="is damaged") as failed,
    ):
        list(transcript.exchanges("ada", transcript.exchange_ids("ada")))
    assert not isinstance(failed.value, StoreLocked)
    path.write_bytes(b"neither the one nor the other" * 200)
    with pytest.raises(StoreError, match="is damaged"):
        Transcript.open(path, KEY)
    assert capfd.readouterr() == ("", "")  # SQLCipher would print its own log
