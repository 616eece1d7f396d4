"""The voice detector's model is rarely called in a quiet room."""

import numpy as np

from assistant.voice.turns.pipecat_models import GatedVoiceDetector
from models.interfaces import Samples
from tests.support.fakes import LoudVoice, silence, speech


class Counting(LoudVoice):
    def __init__(self) -> None:
        self.heard: list[Samples] = []

    def probability(self, window: Samples) -> float:
        self.heard.append(window)
        return super().probability(window)


def windows(samples: Samples) -> list[Samples]:
    return [samples[at : at + 512] for at in range(0, len(samples) - 511, 512)]


def test_in_a_quiet_room_the_model_rests() -> None:
    model = Counting()
    voice = GatedVoiceDetector(model)
    assert {voice.probability(window) for window in windows(silence(10))} <= {0.0, 0.01}
    assert len(model.heard) < 30


def test_a_voice_is_detected_in_its_first_window_with_the_sound_just_before() -> None:
    model = Counting()
    voice = GatedVoiceDetector(model)
    quiet, loud = windows(silence(5)), windows(speech(0.5))
    for window in quiet:
        voice.probability(window)
    before = len(model.heard)
    assert voice.probability(loud[0]) > 0.9
    shown = model.heard[before:]
    assert np.array_equal(np.concatenate(shown), np.concatenate([*quiet[-3:], loud[0]]))


def test_slowly_rising_noise_is_learnt_as_background() -> None:
    model = Counting()
    voice = GatedVoiceDetector(model)
    rng = np.random.default_rng(0)
    for step in range(600):
        voice.probability(rng.normal(0, 3 + step / 60, 512).astype(np.int16))
    assert len(model.heard) < 150
