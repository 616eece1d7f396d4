"""Speech is distinguished from words that the recogniser made up."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assistant.voice.speech.hallucination import SpeechSegment, loudness, why_not_speech
from models.interfaces import Transcription

HEARD = Transcription("Thank you.", no_speech=0.34, log_probability=-0.18)
SOUND = np.concatenate([np.zeros(16_000, np.int16), np.full(8000, 4700, np.int16)])
SEGMENT = SpeechSegment(SOUND, np.zeros_like(SOUND), voiced_s=0.48, mean_voice=0.98, noise_floor=25)
NO_LOUDER = {"noise_floor": 4000.0}


def reason(heard: dict[str, Any], segment: dict[str, Any]) -> str | None:
    return why_not_speech(replace(HEARD, **heard), replace(SEGMENT, **segment))


def test_loudness_is_measured_in_the_loud_parts() -> None:
    assert loudness(SOUND) == pytest.approx(4700)
    assert loudness(SOUND[:100]) == 0.0


@pytest.mark.parametrize(
    ("heard", "segment"),
    [
        ({}, {}),
        ({"no_speech": 0.8}, {}),
        ({"no_speech": 0.94, "log_probability": -1.02, "text": "you"}, {"voiced_s": 0.22}),
        ({"log_probability": -1.4}, {}),
        ({}, {"mean_voice": 0.78}),
        ({}, NO_LOUDER),
        ({"text": "Help!"}, {"voiced_s": 0.2}),
        ({"text": "2"}, {}),
    ],
)
def test_single_doubts_do_not_reject_speech(heard: dict[str, Any], segment: dict[str, Any]) -> None:
    assert reason(heard, segment) is None


@pytest.mark.parametrize(
    ("heard", "segment", "why"),
    [
        ({"text": ""}, {}, "no words"),
        ({"text": " . . "}, {}, "no words"),
        ({}, {"voiced_s": 0.06}, "no voice"),
        (
            {"text": "I want to go home now"},
            {"voiced_s": 0.2},
            "too many words for so little speech",
        ),
        ({"no_speech": 0.81}, {"mean_voice": 0.77}, "unclear and it is probably silence"),
        ({"log_probability": -1.3}, {"mean_voice": 0.77}, "the words are a guess"),
        ({"no_speech": 0.9}, {"mean_voice": 0.88, **NO_LOUDER}, "no louder than the noise"),
        ({"no_speech": 0.9, "log_probability": -1.2}, NO_LOUDER, "no louder than the noise"),
    ],
)
def test_words_that_were_made_up_from_noise_are_rejected(
    heard: dict[str, Any], segment: dict[str, Any], why: str
) -> None:
    assert why in (reason(heard, segment) or "")
