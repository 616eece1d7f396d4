"""Judges whether a transcription was really spoken, or made up from noise.

Whisper writes something for every sound; for noise usually "Thank you." or "You", which people say
too. So no phrase is suspicious in itself: the sound and the decoder's own doubts decide. The limits
were set on recordings of rooms, music, animals, a sneeze, clocks and keyboards, on synthetic hums,
clicks, coughs and breath, and on people, down to a single "Help" (figures in
tests/real/test_judgement.py).
"""

from dataclasses import dataclass

import numpy as np

from models.interfaces import Samples, Transcription

LEAST_VOICE_S = 0.1
"""Minimum seconds of voiced windows; even the shortest words, "you" and "help", have 0.2 s."""
CLEAR_VOICE = 0.83
"""Minimum mean probability over voiced windows: people have 0.89 or more, babble 0.74–0.80."""
CERTAIN_VOICE = 0.9
"""Mean voice probability at or above which even a mumbled "you" counts as speech, though Whisper
calls it silence."""
SILENCE_LIKELY = 0.6
GUESSED = -1.0
"""Minimum mean log probability of the text: people go down to -0.99, noise has -0.5 to -2.2."""
MOST_CHARACTERS_PER_S = 45.0
"""Characters of text per second of voice: fast speech has 25, and 31 if few windows are voiced."""
ABOVE_NOISE = 1.4
"""Minimum ratio of the sound's loud parts to the noise before it, in amplitude (3 dB)."""


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """A segment of speech to transcribe, with the voice detector's measurements of it.

    `samples` is 16 kHz audio from shortly before the speech began; `played` is what the loudspeaker
    played meanwhile (zeros if it was silent). `voiced_s` is the total length of the windows that
    the detector considers voice, and `mean_voice` their mean probability. `noise_floor` is the
    level before the speech, as the root mean square of 16-bit samples.
    """

    samples: Samples
    played: Samples
    voiced_s: float
    mean_voice: float
    noise_floor: float


def loudness(samples: Samples, window: int = 512) -> float:
    """Root mean square of the loud parts: the 90th percentile over 32 ms windows."""
    count = len(samples) // window
    if not count:
        return 0.0
    frames = samples[: count * window].astype(np.float32).reshape(count, window)
    return float(np.percentile(np.sqrt(np.mean(frames * frames, axis=1)), 90))


def why_not_speech(heard: Transcription, segment: SpeechSegment) -> str | None:
    """Why the words were probably not spoken, in words for the user; None if they were."""
    characters = sum(character.isalnum() for character in heard.text)
    if not characters:
        return "no words"
    if segment.voiced_s < LEAST_VOICE_S:
        return "no voice"
    if characters > MOST_CHARACTERS_PER_S * segment.voiced_s:
        return "more words than voice"
    noise = ABOVE_NOISE * segment.noise_floor
    doubts = {
        "the voice is unclear": segment.mean_voice < CLEAR_VOICE,
        "it is probably silence": heard.no_speech > SILENCE_LIKELY,
        "the words are a guess": heard.log_probability < GUESSED,
        "it is no louder than the noise": loudness(segment.samples) < noise,
    }
    held = [doubt for doubt, holds in doubts.items() if holds]
    # One doubt proves nothing: a whispered word is unclear, a short one looks like silence.
    least = 3 if segment.mean_voice >= CERTAIN_VOICE else 2
    return " and ".join(held) if len(held) >= least else None
