"""Speech is distinguished from invented words, with the real recogniser and voice detector.

The limits were set on 109 stretches without speech (rooms, a café, music, animals, a sneeze,
clocks, keyboards; synthetic noise, hums, tones, clicks, coughs, breath) and 226 with speech: 132
recordings of people, 66 mixtures of some of these with noise at 12 and 5 dB, and 28 synthesized
ones, some as short as "you" and "Help!". With both tiny.en and base, no noise was accepted and no
speech rejected. The tests use a part of this set.
"""

from collections.abc import Callable

import numpy as np
import pytest
import soundfile

import data
from assistant.voice.speech.hallucination import SpeechSegment, why_not_speech
from assistant.voice.turns.pipecat_models import SileroVoice
from models.interfaces import STT_SAMPLE_RATE, Samples
from models.stt.whisper import FasterWhisper

pytestmark = pytest.mark.real

WINDOW = 512
CONFIDENCE = 0.6


def doubt(recogniser: FasterWhisper, samples: Samples, noise_floor: float) -> str | None:
    """Why the recogniser's words are not speech; None if they are."""
    detector = SileroVoice()
    voices = np.array(
        [
            detector.probability(samples[at : at + WINDOW])
            for at in range(0, len(samples) - WINDOW, WINDOW)
        ]
    )
    voiced = voices[voices >= CONFIDENCE]
    segment = SpeechSegment(
        samples,
        np.zeros_like(samples),
        voiced_s=len(voiced) * WINDOW / STT_SAMPLE_RATE,
        mean_voice=float(voiced.mean()) if len(voiced) else 0.0,
        noise_floor=noise_floor,
    )
    return why_not_speech(recogniser.transcribe(samples), segment)


def hum() -> Samples:
    t = np.arange(3 * STT_SAMPLE_RATE) / STT_SAMPLE_RATE
    overtones = [3000 * np.sin(2 * np.pi * 50 * k * t) / k for k in range(1, 12)]
    wave: Samples = np.sum(overtones, axis=0).astype(np.int16)
    return wave


def hiss() -> Samples:
    return np.random.default_rng(1).normal(0, 1500, 3 * STT_SAMPLE_RATE).astype(np.int16)


def silence() -> Samples:
    return np.random.default_rng(2).normal(0, 4, 3 * STT_SAMPLE_RATE).astype(np.int16)


def cough() -> Samples:
    dice, length = np.random.default_rng(3), 5600
    n = np.arange(length)
    burst = dice.normal(0, 9000, length) * np.exp(-n / 1500) * (1 - np.exp(-n / 60))
    sound = dice.normal(0, 8, 2 * STT_SAMPLE_RATE)
    for at in (6000, 16000):
        sound[at : at + length] += np.convolve(burst, np.ones(6) / 6, "same")
    return sound.astype(np.int16)


def cafe() -> Samples:
    samples, _ = soundfile.read(data.located("recordings/coffee_shop.flac"), dtype="int16")
    return np.asarray(samples, np.int16)


@pytest.mark.parametrize("made", [hum, hiss, silence, cough, cafe])
def test_noise_is_not_speech(recogniser: FasterWhisper, made: Callable[[], Samples]) -> None:
    samples = made()
    for start in range(0, len(samples), 4 * STT_SAMPLE_RATE):
        assert doubt(recogniser, samples[start : start + 4 * STT_SAMPLE_RATE], noise_floor=10)


@pytest.mark.parametrize(
    "text", ["Thank you.", "Thanks for watching.", "Yes.", "Help!", "Okay.", "Stop."]
)
@pytest.mark.parametrize("gain", [1.0, 0.15])
def test_words_often_recognised_in_noise_are_speech_when_spoken(
    recogniser: FasterWhisper, speaker: Callable[[str], Samples], text: str, gain: float
) -> None:
    quiet = np.random.default_rng(4).normal(0, 15, STT_SAMPLE_RATE // 2)
    samples = np.concatenate([quiet, speaker(text) * gain, quiet]).astype(np.int16)
    assert doubt(recogniser, samples, noise_floor=15) is None


@pytest.mark.parametrize("name", ["today", "book_a_room", "two_people", "young_man"])
def test_recordings_of_people_are_speech(recogniser: FasterWhisper, name: str) -> None:
    samples, _ = soundfile.read(data.located(f"recordings/{name}.flac"), dtype="int16")
    padded = np.pad(np.asarray(samples, np.int16), 4800)
    assert doubt(recogniser, padded, noise_floor=30) is None
