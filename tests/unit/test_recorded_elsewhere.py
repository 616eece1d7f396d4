"""A recording outside of the home lies among its owner's files: none of them is touched."""

import os
from pathlib import Path

import pytest

from assistant.errors import StoreError
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.paths import Home
from tests.support.recorded import OTHER, SECRET, gone, rows, turn


@pytest.fixture
def recordings(home: Home) -> Recordings:
    return Recordings(home.recordings)


def recorded(recordings: Recordings, path: Path) -> Path:
    recordings.begin("talk", path)
    recordings.append(path, rows([*turn(1, SECRET, "I see.", "e1"), *turn(2, OTHER, "So.", "e2")]))
    return path


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.new", f"{'t' * 249}.jsonl"])
def test_files_of_a_like_name_stay(recordings: Recordings, tmp_path: Path, name: str) -> None:
    path = recorded(recordings, tmp_path / name)
    mine = path.with_name(f"{path.stem}.new" if path.suffix != ".new" else "other.new")
    mine.write_text("precious")

    assert recordings.purge(gone([SECRET], ["e1"])) == 1
    recordings.delete_turns(path, {2})

    assert recordings.read(path).rows == ()
    assert mine.read_text() == "precious"
    assert {each.name for each in tmp_path.iterdir() if each.is_file()} == {path.name, mine.name}


def test_one_that_cannot_be_written_leaves_nothing_beside_it(
    recordings: Recordings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded(recordings, tmp_path / "talk.jsonl")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        recordings.purge(gone([SECRET], ["e1"]))

    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["talk.jsonl"]
    assert len(recordings.read(path).rows) > 2
