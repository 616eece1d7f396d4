"""Speech or invention; listener's sounds; the assistant's own words."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from assistant.voice.speech.hallucination import SpeechEvidence, judge, loudness
from assistant.voice.turns.interruptions import is_backchannel, is_echo
from models.interfaces import Samples, Transcription

SAID = SpeechEvidence(
    text="Thank you.",
    no_speech=0.34,
    log_probability=-0.18,
    voiced_s=0.48,
    mean_voice=0.98,
    max_voice=1.0,
    level=4700,
    noise_floor=25,
)


def test_a_spoken_thank_you_is_speech() -> None:
    assert judge(SAID).is_speech


@pytest.mark.parametrize(
    "changed",
    [
        {"no_speech": 0.8},
        {"no_speech": 0.94, "log_probability": -1.02, "voiced_s": 0.22, "text": "you"},
        {"log_probability": -1.4},
        {"mean_voice": 0.78},
        {"level": 30, "noise_floor": 25},
        {"text": "Help!", "voiced_s": 0.2},
        {"text": "2"},
    ],
)
def test_doubts_that_are_no_proof(changed: dict[str, Any]) -> None:
    assert judge(replace(SAID, **changed)).is_speech


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"text": ""}, "no words"),
        ({"text": " . . "}, "no words"),
        ({"voiced_s": 0.06}, "no voice"),
        ({"text": "I want to go home now", "voiced_s": 0.2}, "more words than voice"),
        ({"mean_voice": 0.77, "no_speech": 0.81}, "unclear and it is probably silence"),
        ({"mean_voice": 0.77, "log_probability": -1.3}, "the words are a guess"),
        (
            {"no_speech": 0.9, "mean_voice": 0.88, "level": 30, "noise_floor": 25},
            "no louder than the noise",
        ),
        (
            {"no_speech": 0.9, "log_probability": -1.2, "level": 30, "noise_floor": 25},
            "no louder than the noise",
        ),
    ],
)
def test_what_the_recogniser_made_up_is_not(changed: dict[str, Any], reason: str) -> None:
    verdict = judge(replace(SAID, **changed))
    assert not verdict.is_speech
    assert reason in verdict.reason


@dataclass
class Sound:
    samples: Samples
    voiced_s: float = 0.5
    mean_voice: float = 0.9
    max_voice: float = 1.0
    noise_floor: float = 20.0


def test_evidence_is_gathered_from_the_words_and_the_sound() -> None:
    samples = np.concatenate([np.zeros(16000, np.int16), np.full(8000, 1000, np.int16)])
    heard = Transcription("Yes.", no_speech=0.2, log_probability=-0.3)
    evidence = SpeechEvidence.of(heard, Sound(samples))
    assert evidence == SpeechEvidence("Yes.", 0.2, -0.3, 0.5, 0.9, 1.0, 1000.0, 20.0)
    assert loudness(samples[:100]) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "Mm-hmm.",
        "Uh-huh",
        "mhm",
        "Yeah.",
        "yeah, yeah",
        "Okay.",
        "OK, right.",
        "Right",
        "I see.",
        "Got it, okay.",
        "Oh, wow!",
        "That's right.",
        "Sure.",
    ],
)
def test_a_listener_says(text: str) -> None:
    assert is_backchannel(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "No.",
        "Stop.",
        "Wait",
        "okay stop",
        "Yeah, but why?",
        "right now",
        "Thank you.",
        "I see a dog",
        "yeah yeah yeah yeah yeah",
    ],
)
def test_an_interruption_says(text: str) -> None:
    assert not is_backchannel(text)


SPEAKING = "The capital of France is Paris. It has two million people and 12 bridges."


@pytest.mark.parametrize(
    "text",
    [
        "the capital of France",
        "It has two million people.",
        "France is Paris it has",
        "2 million",
        "the capitol of France is Paris",
        "has two millions people and twelve bridges",
    ],
)
def test_its_own_words_are_an_echo(text: str) -> None:
    assert is_echo(text, SPEAKING)


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("Just go.", True),
        ("Paris", True),
        ("of nothing is the capital, but if it not", True),
        ("Stop it. Please stop it now.", False),
        ("What about the weather tomorrow?", False),
    ],
)
def test_in_its_own_voice_only_many_other_words_are_the_user_s(text: str, echo: bool) -> None:
    assert is_echo(text, SPEAKING, own_voice=0.25) is echo
    assert is_echo(text, SPEAKING, own_voice=0.5)
    assert not is_echo(text, "", own_voice=0.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris",
        "Stop it please",
        "What about France and Germany?",
        "the bridges of Paris",
        "How many people live there?",
        "No, the capital is Lyon, I think",
        "two people",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert not is_echo(text, SPEAKING)


def test_nothing_echoes_silence() -> None:
    assert not is_echo("hello there", "")
