"""Where the speech in a recording ends, and which recordings are used."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from models.interfaces import STT_SAMPLE_RATE, Samples
from scripts.bench.voice.labels import Clip, choose, end_of_speech, read_clips, without_commands
from tests.support.voices import voice

RATE = STT_SAMPLE_RATE


def noise(seconds: float, dbfs: float, seed: int = 0) -> Samples:
    wave = np.random.default_rng(seed).standard_normal(int(seconds * RATE))
    return np.asarray(wave * 32768 * 10 ** (dbfs / 20), np.int16)


def recording(speech: Samples, before_s: float, after_s: float, floor_dbfs: float) -> Samples:
    """`speech` within continuous noise."""
    sound = noise(before_s + len(speech) / RATE + after_s, floor_dbfs).astype(np.int32)
    start = int(before_s * RATE)
    sound[start : start + len(speech)] += speech
    return np.clip(sound, -32768, 32767).astype(np.int16)


def spoken(seconds: float = 2.0, level: float = 0.06) -> Samples:
    """Speech that ends in a syllable, not in a pause."""
    speech = voice(seconds + 1.0, seed=4, level=level)
    loud = np.flatnonzero(np.abs(speech[: int(seconds * RATE)]) > 600)
    return speech[: loud[-1]]


@pytest.mark.parametrize("floor_dbfs", [-90.0, -70.0, -55.0])
@pytest.mark.parametrize("after_s", [0.0, 0.1, 1.5])
@pytest.mark.parametrize("level", [0.02, 0.2])
def test_the_end_is_found_in_any_room(floor_dbfs: float, after_s: float, level: float) -> None:
    speech = spoken(level=level)
    sound = recording(speech, before_s=0.4, after_s=after_s, floor_dbfs=floor_dbfs)

    assert end_of_speech(sound) == pytest.approx(0.4 + len(speech) / RATE, abs=0.04)


def test_the_volume_of_a_recording_does_not_move_the_end() -> None:
    sound = recording(spoken(level=0.2), 0.3, 1.0, -60.0)
    quiet = np.asarray(sound / 10, np.int16)

    assert end_of_speech(quiet) == pytest.approx(end_of_speech(sound), abs=0.02)


def test_a_click_after_the_end_is_not_speech() -> None:
    speech = spoken()
    sound = recording(speech, 0.4, 1.0, -70.0)
    clicked = sound.copy()
    at = 400 * RATE // 1000 + len(speech) + RATE // 2
    clicked[at : at + 80] = 20_000

    assert end_of_speech(clicked) == pytest.approx(end_of_speech(sound), abs=0.02)


def test_speech_ends_with_the_last_of_several_phrases() -> None:
    speech = spoken()
    pause = np.zeros(RATE, np.int16)
    sound = recording(np.concatenate([speech, pause, speech]), 0.2, 0.8, -70.0)

    assert end_of_speech(sound) == pytest.approx(0.2 + 2 * len(speech) / RATE + 1.0, abs=0.04)


@pytest.mark.parametrize("sound", [np.zeros(RATE, np.int16), np.zeros(10, np.int16)])
def test_a_recording_without_sound_has_no_end(sound: Samples) -> None:
    with pytest.raises(ValueError, match="no sound"):
        end_of_speech(sound)


def write(folder: Path, name: str, sound: Samples) -> None:
    soundfile.write(folder / name, sound, RATE)


def test_clips_have_the_labels_of_the_manifest(tmp_path: Path) -> None:
    sound = recording(spoken(), 0.2, 1.0, -70.0)
    rows: list[dict[str, Any]] = [
        {"file": "a.flac", "kind": "speech", "text": "ONE <cutoff> TWO [laughter]"},
        {"file": "b.flac", "kind": "speech", "text": None, "end_of_turn": False},
        {"file": "c.flac", "kind": "speech", "text": "x", "vad_segments": [[0.1, 0.9], [1.0, 1.5]]},
        {"file": "d.flac", "kind": "noise", "text": None},
    ]
    for row in rows:
        write(tmp_path, row["file"], sound)
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    tagged, unfinished, labelled = read_clips(tmp_path)

    assert tagged.text is not None
    assert tagged.text.split() == ["ONE", "TWO"]
    assert (tagged.finished, unfinished.finished) == (True, False)
    assert unfinished.text is None
    assert labelled.speech_end_s == 1.5
    assert tagged.speech_end_s == end_of_speech(sound)


def test_without_a_manifest_every_recording_is_used(tmp_path: Path) -> None:
    for name in ("one.wav", "two.flac"):
        write(tmp_path, name, recording(spoken(), 0.2, 0.5, -70.0))
    (tmp_path / "notes.txt").write_text("not a recording")

    assert [clip.name for clip in read_clips(tmp_path)] == ["one.wav", "two.flac"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_recordings_is_reported(tmp_path: Path, *, exists: bool) -> None:
    folder = tmp_path / "clips"
    if exists:
        folder.mkdir()

    with pytest.raises(FileNotFoundError, match="no recordings"):
        read_clips(folder)


def test_a_limited_choice_keeps_unfinished_phrases_and_is_the_same_for_the_same_seed() -> None:
    def clip(number: int) -> Clip:
        return Clip(f"{number}", np.zeros(1, np.int16), 0.0, None, finished=number >= 5)

    clips = [clip(number) for number in range(60)]
    chosen = choose(clips, 12, seed=3)

    assert len({each.name for each in chosen}) == 12
    assert sum(not each.finished for each in chosen) == 3
    assert [each.name for each in chosen] == [each.name for each in choose(clips, 12, seed=3)]
    assert {each.name for each in choose(clips, None, seed=3)} == {each.name for each in clips}


def test_spoken_commands_are_excluded_by_their_transcripts() -> None:
    clips = [
        Clip(name, np.zeros(1, np.int16), 0.0, text, finished=True)
        for name, text in (("a", "STOP"), ("b", "START"), ("c", None), ("d", "stop by the shop"))
    ]

    assert [clip.name for clip in without_commands(clips)] == ["b", "c", "d"]
