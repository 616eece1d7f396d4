"""Judges whether a transcription was really spoken, or made up from noise.

Whisper writes something for every sound; for noise usually "Thank you." or "You", which people say
too. So no phrase is suspicious in itself: the sound and the decoder's own doubts decide. The limits
were set on recordings of rooms, music, animals, a sneeze, clocks and keyboards, on synthetic hums,
clicks, coughs and breath, and on people, down to a single "Help" (figures in
tests/real/test_judgement.py).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.interfaces import Samples, Transcription

LEAST_VOICE_S = 0.1
"""Seconds of voiced windows; even the shortest words, "you" and "help", have 0.2 s."""


CLEAR_VOICE = 0.83
"""Mean voice probability over voiced windows: people have 0.89 or more, babble 0.74–0.80."""


CERTAIN_VOICE = 0.9
"""Mean voice probability from which even a mumbled "you" is speech, though Whisper calls it
silence."""


SILENCE_LIKELY = 0.6


GUESSED = -1.0
"""Mean log probability of the text: people go down to -0.99, noise has -0.5 to -2.2."""


MOST_CHARACTERS_PER_S = 45.0
"""Characters of text per second of voice: fast speech has 25, and 31 if few windows are voiced."""


ABOVE_NOISE = 1.4
"""Minimum ratio of the sound's loud parts to the noise before it, in amplitude (3 dB)."""


class HeardStretch(Protocol):
    """A segment of 16 kHz audio with the voice detector's measurements."""

    @property
    def samples(self) -> Samples: ...
    @property
    def voiced_s(self) -> float: ...
    @property
    def mean_voice(self) -> float: ...
    @property
    def max_voice(self) -> float: ...
    @property
    def noise_floor(self) -> float: ...


@dataclass(frozen=True, slots=True)
class SpeechEvidence:
    """Everything that speaks for or against a transcription.

    `voiced_s` is the total length of the windows that the detector considers voice; `mean_voice` is
    the mean probability over those windows, `max_voice` the highest of all. `level` and
    `noise_floor` are root mean squares of 16-bit samples: of the segment's loud parts, and of the
    time before it.
    """

    text: str
    no_speech: float
    log_probability: float
    voiced_s: float
    mean_voice: float
    max_voice: float
    level: float
    noise_floor: float

    @classmethod
    def of(cls, transcription: Transcription, stretch: HeardStretch) -> "SpeechEvidence":
        return cls(
            text=transcription.text,
            no_speech=transcription.no_speech,
            log_probability=transcription.log_probability,
            voiced_s=stretch.voiced_s,
            mean_voice=stretch.mean_voice,
            max_voice=stretch.max_voice,
            level=loudness(stretch.samples),
            noise_floor=stretch.noise_floor,
        )


@dataclass(frozen=True, slots=True)
class SpeechVerdict:
    """Whether it was speech; `reason` tells the user why, or why not."""

    is_speech: bool
    reason: str


def loudness(samples: Samples, window: int = 512) -> float:
    """Root mean square of the loud parts: the 90th percentile over 32 ms windows."""
    count = len(samples) // window
    if not count:
        return 0.0
    frames = samples[: count * window].astype(np.float32).reshape(count, window)
    return float(np.percentile(np.sqrt(np.mean(frames * frames, axis=1)), 90))


def judge(evidence: SpeechEvidence) -> SpeechVerdict:
    """Judge whether `evidence.text` was really spoken."""
    characters = sum(character.isalnum() for character in evidence.text)
    if not characters:
        return SpeechVerdict(False, "no words")
    if evidence.voiced_s < LEAST_VOICE_S:
        return SpeechVerdict(False, "no voice")
    if characters > MOST_CHARACTERS_PER_S * evidence.voiced_s:
        return SpeechVerdict(False, "more words than voice")
    doubts = [doubt for doubt, holds in _doubts(evidence) if holds]
    # One alone proves nothing: a whispered word is unclear, a short one looks like silence.
    if len(doubts) >= (3 if evidence.mean_voice >= CERTAIN_VOICE else 2):
        return SpeechVerdict(False, " and ".join(doubts))
    return SpeechVerdict(True, "speech")


def _doubts(evidence: SpeechEvidence) -> list[tuple[str, bool]]:
    return [
        ("the voice is unclear", evidence.mean_voice < CLEAR_VOICE),
        ("it is probably silence", evidence.no_speech > SILENCE_LIKELY),
        ("the words are a guess", evidence.log_probability < GUESSED),
        ("it is no louder than the noise", evidence.level < ABOVE_NOISE * evidence.noise_floor),
    ]
