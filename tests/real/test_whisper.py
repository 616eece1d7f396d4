"""The recogniser transcribes recordings of people."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import soundfile

import data
from assistant.errors import SettingsError
from models.download.cache import ModelStore
from models.interfaces import STT_SAMPLE_RATE, Samples
from models.stt.whisper import FULL_FRAMES, SAMPLES_PER_FRAME, FasterWhisper

pytestmark = pytest.mark.real

RECORDINGS = {
    row["file"]: row["text"]
    for row in map(json.loads, data.located("recordings/manifest.jsonl").read_text().splitlines())
    if row["text"] and row["file"] != "young_man.flac"  # too hard for the smallest model
}


def recording(name: str) -> Samples:
    samples, rate = soundfile.read(data.located(f"recordings/{name}"), dtype="int16")
    assert rate == STT_SAMPLE_RATE
    return np.asarray(samples, np.int16)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower().replace("2", "two").replace("15th", "fifteenth"))


@pytest.mark.parametrize(("name", "said"), RECORDINGS.items())
def test_a_recording_is_transcribed(recogniser: FasterWhisper, name: str, said: str) -> None:
    heard = recogniser.transcribe(recording(name))
    assert words(heard.text) == words(said)
    assert heard.log_probability > -1
    assert heard.no_speech < 0.6


def test_a_short_word_is_transcribed_once(recogniser: FasterWhisper) -> None:
    """With a window cut to the word's length, the word would be repeated."""
    assert words(recogniser.transcribe(recording("today.flac")).text) == ["today"]


def test_silence_is_recognised(recogniser: FasterWhisper) -> None:
    noise = np.random.default_rng(1).normal(0, 5, 2 * STT_SAMPLE_RATE).astype(np.int16)
    assert recogniser.transcribe(noise).no_speech > 0.6


@pytest.mark.parametrize("length", [1, 100, 399, 1000])
def test_very_short_audio_is_accepted(recogniser: FasterWhisper, length: int) -> None:
    recogniser.transcribe(np.zeros(length, np.int16))


def test_empty_audio_contains_no_speech(recogniser: FasterWhisper) -> None:
    heard = recogniser.transcribe(np.zeros(0, np.int16))
    assert (heard.text, heard.no_speech) == ("", 1.0)


def test_at_most_thirty_seconds_are_accepted(recogniser: FasterWhisper) -> None:
    most = FULL_FRAMES * SAMPLES_PER_FRAME
    names = ["movable_letters.flac", "brooklyn_bridge.flac", "book_a_room.flac", "today.flac"]
    pause = np.zeros(2 * STT_SAMPLE_RATE, np.int16)
    spoken = np.concatenate([part for name in names for part in (recording(name), pause)])
    heard = words(recogniser.transcribe(np.pad(spoken, (most - len(spoken), 0))).text)
    assert {"letters", "fifteenth", "printing", "brooklyn", "bridge", "room"} <= set(heard)
    with pytest.raises(ValueError, match="30 s"):
        recogniser.transcribe(np.zeros(most + 1, np.int16))


def test_a_doubtful_text_is_decoded_again_with_the_defaults(
    recogniser: FasterWhisper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that no text meets forces the fallback, which must recognise the same words."""
    monkeypatch.setattr("models.stt.whisper.COMPRESSION_LIMIT", 0.0)
    heard = recogniser.transcribe(recording("brooklyn_bridge.flac"))
    assert words(heard.text) == words(RECORDINGS["brooklyn_bridge.flac"])


def test_several_threads_can_transcribe_at_once(recogniser: FasterWhisper) -> None:
    names = ["book_a_room.flac", "brooklyn_bridge.flac"] * 2
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda name: recogniser.transcribe(recording(name)).text, names))
    assert [words(text) for text in heard] == [words(RECORDINGS[name]) for name in names]


def test_an_english_model_refuses_other_languages(store: ModelStore) -> None:
    folder: Path = store.location("whisper-tiny.en")
    with pytest.raises(SettingsError, match="language `de`"):
        FasterWhisper(folder, threads=1, language="de").load()
    automatic = FasterWhisper(folder, threads=1, language="auto")
    automatic.load()
    assert words(automatic.transcribe(recording("today.flac")).text) == ["today"]
