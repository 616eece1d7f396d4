"""The real voice detector finds the same speech when it is spared in between."""

import json

import numpy as np
import pytest

from assistant.voice.audio.files import read_recording
from assistant.voice.turns.detectors import GatedVoiceDetector, SileroVoice, VoiceDetector
from assistant.voice.turns.endpointing import WINDOW, Endpointer, Signal
from data import located
from models.interfaces import Samples

pytestmark = pytest.mark.real

NAMES = [
    json.loads(line)["file"]
    for line in located("recordings/manifest.jsonl").read_text(encoding="utf-8").splitlines()
]


def started(detector: VoiceDetector, sound: Samples) -> list[int]:
    """Windows at which speech begins."""
    machine = Endpointer(
        confidence=0.6,
        start_s=0.16,
        hint_s=0.032,
        stop_s=0.2,
        doubtful_wait_s=0.5,
        incomplete_wait_s=0.6,
    )
    found = []
    for number in range(len(sound) // WINDOW):
        window = sound[number * WINDOW : (number + 1) * WINDOW]
        signals = machine.feed(detector.probability(window))
        if Signal.LONG_SILENCE in signals:
            machine.reset()
        if Signal.STARTED in signals:
            found.append(number)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_speech_begins_at_the_same_window(name: str) -> None:
    rng = np.random.default_rng(3)
    room = rng.normal(0, 20, 16_000 * 6).astype(np.int16)
    clip = read_recording(located(f"recordings/{name}"))
    sound = np.concatenate([room, clip, room[:32_000], clip, room])
    plain = started(SileroVoice(), sound)
    spared = started(GatedVoiceDetector(SileroVoice()), sound)
    assert plain
    assert len(spared) == len(plain)
    assert all(abs(one - other) <= 2 for one, other in zip(plain, spared, strict=True))
