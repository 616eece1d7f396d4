"""Whether what the recogniser wrote was said at all, or made up of noise."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.interfaces import Samples, Transcription

LEAST_VOICE_S = 0.1
"""The shortest words, "you" and "help", hold 0.2 s of windows with a voice."""


CLEAR_VOICE = 0.83
"""Mean probability of a voice over the voiced windows: people 0.89 and more, babble 0.74–0.80."""


CERTAIN_VOICE = 0.9
"""With so much even a mumbled "you", that Whisper takes for silence and guesses at, is speech."""


SILENCE_LIKELY = 0.6


GUESSED = -1.0
"""Mean log probability of the text: people down to -0.99, noise from -0.5 to -2.2."""


MOST_CHARACTERS_PER_S = 45.0
"""Of text per second of voice: quick speech has 25, and 31 when the voice is scant."""


ABOVE_NOISE = 1.4
"""Of the sound's loud parts over the noise before it, as a ratio of amplitudes (3 dB)."""


class HeardStretch(Protocol):
    """A stretch of 16 kHz audio with what the voice detector made of it."""

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
    """All that speaks for or against a transcription.

    `voiced_s` are the seconds of windows that the detector takes for voice, `mean_voice` its
    probability over them, `max_voice` over all. `level` and `noise_floor` are root mean squares of
    16-bit samples: of the loud parts of the stretch, and of the time before it.
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
    """`reason` is for the user: why it was, or wasn't, taken for speech."""

    is_speech: bool
    reason: str


def loudness(samples: Samples, window: int = 512) -> float:
    """Root mean square of the loud parts: the 90th percentile over windows of 32 ms."""
    count = len(samples) // window
    if not count:
        return 0.0
    frames = samples[: count * window].astype(np.float32).reshape(count, window)
    return float(np.percentile(np.sqrt(np.mean(frames * frames, axis=1)), 90))


def judge(evidence: SpeechEvidence) -> SpeechVerdict:
    """Whether `evidence.text` was really said."""
    characters = sum(character.isalnum() for character in evidence.text)
    if not characters:
        return SpeechVerdict(False, "no words")
    if evidence.voiced_s < LEAST_VOICE_S:
        return SpeechVerdict(False, "no voice")
    if characters > MOST_CHARACTERS_PER_S * evidence.voiced_s:
        return SpeechVerdict(False, "more words than voice")
    doubts = [doubt for doubt, holds in _doubts(evidence) if holds]
    # One alone is no proof: a whispered word is unclear, a short one looks like silence.
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
