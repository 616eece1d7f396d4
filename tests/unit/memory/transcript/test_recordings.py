"""Recorded conversations on the disk: written, read, and encrypted."""

import multiprocessing
import os
import signal
import stat
import time
from pathlib import Path

import pytest

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError, StoreLocked
from assistant.events import TurnHeard
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.paths import Home
from tests.support.recorded import ANSWER, OTHER, SECRET, gone, rows, turn


@pytest.fixture(params=[None, MasterKey(b"k" * 32)], ids=["plain", "encrypted"])
def recordings(request: pytest.FixtureRequest, home: Home) -> Recordings:
    return Recordings(home.recordings, request.param)


# -- the file -----------------------------------------------------------------------------------


def test_written_events_are_read_back(recordings: Recordings) -> None:
    path = recordings.begin("talk")
    written = rows(turn(1, SECRET, ANSWER, "e1"))
    recordings.append(path, written[:3])
    recordings.append(path, written[3:])
    read = recordings.read(path)
    assert list(read.rows) == written
    assert (read.header.conversation, read.damaged, read.cut) == ("talk", 0, False)
    assert recordings.paths() == [path]
    assert recordings.begin("talk") != path


def test_only_the_owner_may_read_a_recording(recordings: Recordings) -> None:
    path = recordings.begin("talk")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recordings.append(path, rows([TurnHeard(1, SECRET)]))
    assert recordings.purge(gone([SECRET])) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_encrypted_recording_contains_no_plain_text(home: Home) -> None:
    key = MasterKey.new()
    recordings = Recordings(home.recordings, key)
    path = recordings.begin("talk")
    recordings.append(path, rows(turn(1, SECRET, ANSWER, "e1")))
    raw = path.read_bytes()
    assert b"parrot" not in raw
    assert b"TurnHeard" not in raw
    with pytest.raises(StoreLocked, match="there is no key"):
        Recordings(home.recordings).read(path)
    with pytest.raises(StoreLocked, match="another key"):
        Recordings(home.recordings, MasterKey.new()).read(path)


def test_lines_of_another_recording_cannot_be_decrypted(home: Home) -> None:
    recordings = Recordings(home.recordings, MasterKey.new())
    one, other = recordings.begin("a"), recordings.begin("b")
    recordings.append(one, rows([TurnHeard(1, SECRET)]))
    with other.open("ab") as file:
        file.write(one.read_bytes().splitlines(keepends=True)[1])
    assert recordings.read(other).rows == ()
    assert recordings.read(other).damaged == 1


def test_only_the_last_line_is_lost_if_it_is_cut_off(recordings: Recordings) -> None:
    path = recordings.begin("talk")
    recordings.append(path, rows([TurnHeard(1, "one"), TurnHeard(2, "two")]))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    read = recordings.read(path)
    assert [row["event"]["text"] for row in read.rows] == ["one"]
    assert (read.damaged, read.cut) == (0, True)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"hello\n", "is not a recording"),
        (b"\xff\xfe\x00{}\n[1]\n", "is not a recording"),
        (b"[1]\n", "is not a recording"),
        (b'{"at": "x"}\n', "is not a recording"),
        (
            b'{"recording": 2, "id": "", "began": "", "conversation": "", "key": ""}\n',
            "newer version",
        ),
    ],
)
def test_files_that_are_not_recordings_are_refused(
    home: Home, content: bytes, sentence: str
) -> None:
    path = home.root / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=sentence):
        Recordings(home.recordings).read(path)


def test_existing_files_are_not_overwritten(home: Home) -> None:
    path = home.root / "mine.jsonl"
    path.write_text("precious")
    with pytest.raises(StoreError, match="already exists"):
        Recordings(home.recordings).begin("talk", path)
    assert path.read_text() == "precious"


def test_a_recording_removed_meanwhile_is_not_recreated(recordings: Recordings) -> None:
    path = recordings.begin("talk")
    path.unlink()
    with pytest.raises(StoreError, match="There is no recording"):
        recordings.append(path, rows([TurnHeard(1, SECRET)]))
    assert not path.exists()


def _write_on(folder: Path) -> None:
    recordings = Recordings(folder)
    path = recordings.begin("talk")
    for number in range(100_000):
        recordings.append(path, rows([TurnHeard(number, f"{number} " * 200)]))


def test_a_kill_loses_at_most_the_last_line(home: Home) -> None:
    child = multiprocessing.get_context("fork").Process(target=_write_on, args=(home.recordings,))
    child.start()
    recordings = Recordings(home.recordings)
    while not (paths := recordings.paths()) or paths[0].stat().st_size < 100_000:
        assert child.is_alive()
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    read = recordings.read(paths[0])
    assert [row["event"]["turn"] for row in read.rows] == list(range(len(read.rows)))
    assert read.damaged == 0
    recordings.append(paths[0], rows([]))  # nobody holds the lock


# -- outside the home, among its owner's files ----------------------------------------------------


def recorded(recordings: Recordings, path: Path) -> Path:
    recordings.begin("talk", path)
    recordings.append(path, rows([*turn(1, SECRET, "I see.", "e1"), *turn(2, OTHER, "So.", "e2")]))
    return path


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.new", f"{'t' * 249}.jsonl"])
def test_files_with_similar_names_are_not_touched(home: Home, tmp_path: Path, name: str) -> None:
    recordings = Recordings(home.recordings)
    path = recorded(recordings, tmp_path / name)
    mine = path.with_name(f"{path.stem}.new" if path.suffix != ".new" else "other.new")
    mine.write_text("precious")

    assert recordings.purge(gone([SECRET], ["e1"])) == 1
    recordings.delete_turns(path, {2})

    assert recordings.read(path).rows == ()
    assert mine.read_text() == "precious"
    assert {each.name for each in tmp_path.iterdir() if each.is_file()} == {path.name, mine.name}


def test_a_failed_write_leaves_nothing_beside_the_recording(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = Recordings(home.recordings)
    path = recorded(recordings, tmp_path / "talk.jsonl")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        recordings.purge(gone([SECRET], ["e1"]))

    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["talk.jsonl"]
    assert len(recordings.read(path).rows) > 2


def test_a_recording_that_ends_during_its_purge_is_purged(home: Home, tmp_path: Path) -> None:
    recordings = Recordings(home.recordings)
    path = recorded(recordings, tmp_path / "talk.jsonl")
    recordings.settle_with(path, lambda: recordings.end(path))
    assert recordings.purge(gone([SECRET])) == 1
    assert b"parrot" not in path.read_bytes()
    assert recordings.purge(gone([OTHER])) == 0, "the file belongs to the user now"


def test_recordings_may_begin_and_end_while_others_are_searched(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings, exists = Recordings(home.recordings), Path.exists
    paths = [recorded(recordings, tmp_path / f"{name}.jsonl") for name in "abc"]

    def ending(path: Path) -> bool:
        recordings.end(path)
        return exists(path)

    monkeypatch.setattr(Path, "exists", ending)
    [searched] = recordings.search(gone([SECRET]).patterns)
    assert len(searched.found) == len(paths)


@pytest.mark.parametrize("ends", [True, False])
def test_a_failed_purge_is_completed_by_the_next_one(
    home: Home, tmp_path: Path, ends: bool
) -> None:
    recordings = Recordings(home.recordings)
    path = recorded(recordings, tmp_path / "talk.jsonl")

    def fail() -> None:
        raise StoreError("The disk is slow.")

    recordings.settle_with(path, fail)
    for _ in range(2):  # the words may be gone from the transcript by the second time
        with pytest.raises(StoreError, match="slow"):
            recordings.purge(gone([SECRET]))
    recordings.settle_with(path, lambda: None)
    if ends:
        recordings.end(path)
    assert recordings.purge(gone(["something else"])) == 1
    assert b"parrot" not in path.read_bytes()
    recordings.end(path)
    assert recordings.purge(gone([OTHER])) == 0, "the file belongs to the user now"
