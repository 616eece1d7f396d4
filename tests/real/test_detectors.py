"""The real voice detector finds the same speech if it doesn't run on silence."""

import json

import numpy as np
import pytest

from assistant.settings import Turn
from assistant.voice.audio.files import read_recording
from assistant.voice.turns.endpointing import WINDOW, Endpointer, SpeechChange
from assistant.voice.turns.pipecat_models import GatedVoiceDetector, SileroVoice, VoiceDetector
from data import located
from models.interfaces import Samples

pytestmark = pytest.mark.real

NAMES = [
    json.loads(line)["file"]
    for line in located("recordings/manifest.jsonl").read_text(encoding="utf-8").splitlines()
]


def started(detector: VoiceDetector, sound: Samples) -> list[int]:
    """The windows in which speech begins."""
    endpointer = Endpointer(Turn())
    found = []
    for number in range(len(sound) // WINDOW):
        window = sound[number * WINDOW : (number + 1) * WINDOW]
        change = endpointer.feed(detector.probability(window))
        if endpointer.silence_s >= 0.6:
            endpointer.reset()
        if change is SpeechChange.STARTED:
            found.append(number)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_speech_begins_in_the_same_window(name: str) -> None:
    rng = np.random.default_rng(3)
    room = rng.normal(0, 20, 16_000 * 6).astype(np.int16)
    clip = read_recording(located(f"recordings/{name}"))
    sound = np.concatenate([room, clip, room[:32_000], clip, room])
    plain = started(SileroVoice(), sound)
    spared = started(GatedVoiceDetector(SileroVoice()), sound)
    assert plain
    assert len(spared) == len(plain)
    assert all(abs(one - other) <= 2 for one, other in zip(plain, spared, strict=True))
