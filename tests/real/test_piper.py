"""The voice speaks the text, begins at once, and knows when each word is spoken."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from piper import PiperConfig, PiperVoice

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from assistant.voice.audio.interfaces import MIC_RATE
from assistant.voice.audio.resampling import Resampler
from models.download.cache import ModelStore
from models.interfaces import Samples, WordTime
from models.stt.whisper import FasterWhisper
from models.tts.piper import Piper
from models.tts.piper_graph import SplitNetwork

pytestmark = pytest.mark.real

TEXT = "Of the two, I would say 24 is better, because the library opens at 9."


@pytest.fixture(scope="module")
def weights(store: ModelStore) -> Path:
    return store.weights("piper-en-us-joe-medium")


@pytest.fixture(scope="module")
def voice(weights: Path) -> Piper:
    piper = Piper(weights)
    piper.load()
    return piper


def first_sound_s(samples: Samples, rate: int) -> float:
    return float(np.flatnonzero(np.abs(samples.astype(int)) > 600)[0]) / rate


def said(voice: Piper, text: str) -> tuple[Samples, list[WordTime]]:
    pieces = list(voice.synthesize(text))
    words = [word for piece in pieces for word in piece.words]
    return np.concatenate([piece.samples for piece in pieces]), words


def test_the_text_is_spoken(voice: Piper, recogniser: FasterWhisper) -> None:
    samples, _ = said(voice, "The library opens in the evening.")
    heard = recogniser.transcribe(Resampler(voice.sample_rate, MIC_RATE).process(samples))
    assert heard.text.strip(" .").lower() == "the library opens in the evening"


def test_the_first_piece_is_short_and_begins_with_a_sound(voice: Piper) -> None:
    pieces = list(voice.synthesize("Hello there. I am fine, and how are you doing on this day!"))
    assert all(piece.samples.dtype == np.int16 and piece.samples.ndim == 1 for piece in pieces)
    assert len(pieces) > 3
    assert len(pieces[0].samples) < 0.25 * voice.sample_rate
    assert first_sound_s(pieces[0].samples, voice.sample_rate) < 0.05


def test_the_pieces_together_equal_the_whole_sentence(weights: Path) -> None:
    config = PiperConfig.from_dict(json.loads(Path(f"{weights}.json").read_text()))
    split = SplitNetwork(weights, config)
    phonemes = PiperVoice(config=config, session=None)
    (sentence,) = phonemes.phonemize("The library opens in the evening, and closes at night.")
    frames = split.encode(phonemes.phonemes_to_ids(sentence), pace=1.0)
    assert sum(frames.lengths) == len(frames)
    pieces = list(split.decode(frames))
    assert len(pieces) > 2
    np.testing.assert_allclose(
        np.concatenate(pieces), split.part(frames, 0, len(frames)), atol=2e-4
    )


def test_a_voice_that_cannot_be_split_speaks_in_whole_sentences(
    voice: Piper, weights: Path, tmp_path: Path, recogniser: FasterWhisper
) -> None:
    model = onnx.load(str(weights))
    for node in model.graph.node:
        node.name = node.name.replace("/dec/", "/generator/")
    onnx.save(model, str(tmp_path / "other.onnx"))
    (tmp_path / "other.onnx.json").write_text(Path(f"{weights}.json").read_text())
    other = Piper(tmp_path / "other.onnx")
    other.load()
    samples, _ = said(other, "The library opens in the evening.")
    heard = recogniser.transcribe(Resampler(other.sample_rate, MIC_RATE).process(samples))
    assert heard.text.strip(" .").lower() == "the library opens in the evening"
    _, words = said(other, TEXT)
    _, times = said(voice, TEXT)
    assert [TEXT[word.start : word.end] for word in words] == TEXT.split()
    errors = [abs(word.end_s - time.end_s) for word, time in zip(words, times, strict=True)]
    assert np.median(errors) < 0.2


def test_neighbouring_clauses_are_about_equally_loud(voice: Piper) -> None:
    levels = []
    for text in ("You are welcome!", "I am a helpful assistant", "Okay.", "a pinch of salt."):
        samples = said(voice, text)[0].astype(float)
        levels.append(np.sqrt(np.mean(samples[np.abs(samples) > 300] ** 2)))
    assert max(levels) / min(levels) < 1.6


def test_every_word_has_its_time(voice: Piper) -> None:
    samples, times = said(voice, TEXT)
    assert [TEXT[time.start : time.end] for time in times] == TEXT.split()
    at = 0.0
    for time in times:
        assert at <= time.start_s <= time.end_s <= len(samples) / voice.sample_rate
        at = time.end_s
    # After "two," and "better," the voice pauses; the times of adjacent words exclude the pause.
    for index in (2, 8):
        gap_s = times[index + 1].start_s - times[index].end_s
        assert gap_s > 0.1
        pause = samples[
            slice(
                *(
                    int(t * voice.sample_rate)
                    for t in (times[index].end_s + gap_s / 3, times[index + 1].start_s - gap_s / 3)
                )
            )
        ]
        assert np.abs(pause).mean() < 0.1 * np.abs(samples).mean()


def test_the_speed_can_be_set_and_changed_from_one_text_to_the_next(weights: Path) -> None:
    piper = Piper(weights, speed=1.6)
    piper.load()
    quick = len(said(piper, TEXT)[0])
    piper.speed = 1.0
    assert 1.2 < len(said(piper, TEXT)[0]) / quick < 2.0
    piper.speed = 1.6
    assert len(said(piper, TEXT)[0]) == pytest.approx(quick, rel=0.15)


@pytest.mark.parametrize("text", ["", "  ", "...", "—"])
def test_text_without_words_is_silent(voice: Piper, text: str) -> None:
    assert list(voice.synthesize(text)) == []


def test_an_unusable_voice_is_explained(weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "joe" / "voice.onnx"
    with pytest.raises(ModelFailed, match="before it was loaded"):
        list(Piper(path).synthesize("Hello."))
    with pytest.raises(ModelMissing, match=r"voice\.onnx is missing") as caught:
        Piper(path).load()
    assert caught.value.mend == "assistant models pull joe"
    path.parent.mkdir()
    path.write_bytes(b"no model")
    with pytest.raises(ModelMissing, match=r"voice\.onnx\.json is missing"):
        Piper(path).load()
    path.with_name("voice.onnx.json").write_text("{}")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        Piper(path).load()
    path.write_bytes(weights.read_bytes()[:100_000])
    path.with_name("voice.onnx.json").write_bytes(Path(f"{weights}.json").read_bytes())
    with pytest.raises(ModelCorrupt, match="can't be read"):
        Piper(path).load()
