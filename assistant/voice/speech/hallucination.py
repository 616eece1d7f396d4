"""Judges whether the recogniser's words were really spoken, or were invented for a noise.

Whisper writes words for every sound. For noise these are often "Thank you." or "You", which people
also say. So the words alone prove nothing. Instead, the sound and the recogniser's confidence are
judged. The limits were set on three kinds of sound: recordings of rooms, music, animals, a sneeze,
clocks and keyboards; synthetic hums, clicks, coughs and breath; and speech, down to a single
"Help". The figures are in tests/real/test_judgement.py.
"""

from dataclasses import dataclass

import numpy as np

from models.interfaces import Samples, Transcription

LEAST_VOICE_S = 0.1
"""Minimum seconds of voice in speech. Even the shortest words, "you" and "help", have 0.2 s."""
CLEAR_VOICE = 0.83
"""Minimum mean probability of voice in clear speech. People reach 0.89 or more, babble 0.74 to
0.80."""
CERTAIN_VOICE = 0.9
"""At or above this mean probability of voice, it takes three doubts instead of two to reject the
words. So a mumbled "you" counts as speech, although Whisper takes it for silence."""
SILENCE_LIKELY = 0.6
"""Probability of silence, as estimated by Whisper, above which the sound may be silence."""
GUESSED = -1.0
"""If a text's log probability is lower, it may be a guess. Speech has -0.99 or more, noise has -0.5
to -2.2."""
MOST_CHARACTERS_PER_S = 45.0
"""Maximum number of characters of text per second of voice. Fast speech has 25, or 31 if few
windows count as voice."""
ABOVE_NOISE = 1.4
"""Minimum ratio of the loud parts of speech to the noise before it, in amplitude (3 dB)."""


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """A segment of speech to transcribe, with the voice detector's measurements.

    `samples` is 16 kHz audio that starts shortly before the speech. `played` is what the
    loudspeaker played meanwhile, with zeros where it was silent. `voiced_s` is the total length of
    the windows that count as voice. `mean_voice` is the mean probability of voice in these windows.
    `noise_floor` is the level before the speech, as the root mean square of 16-bit samples.
    """

    samples: Samples
    played: Samples
    voiced_s: float
    mean_voice: float
    noise_floor: float


def loudness(samples: Samples, window: int = 512) -> float:
    """Return the level of the sound's loud parts. It is the 90th percentile of the root mean
    squares of windows of 32 ms."""
    count = len(samples) // window
    if not count:
        return 0.0
    frames = samples[: count * window].astype(np.float32).reshape(count, window)
    return float(np.percentile(np.sqrt(np.mean(frames * frames, axis=1)), 90))


def why_not_speech(heard: Transcription, segment: SpeechSegment) -> str | None:
    """Return the reason why the words were probably not spoken, as a phrase for the user. Return
    None if the words count as spoken."""
    characters = sum(character.isalnum() for character in heard.text)
    if not characters:
        return "no words"
    if segment.voiced_s < LEAST_VOICE_S:
        return "no voice"
    if characters > MOST_CHARACTERS_PER_S * segment.voiced_s:
        return "too many words for so little speech"
    noise = ABOVE_NOISE * segment.noise_floor
    doubts = {
        "the voice is unclear": segment.mean_voice < CLEAR_VOICE,
        "it is probably silence": heard.no_speech > SILENCE_LIKELY,
        "the words are a guess": heard.log_probability < GUESSED,
        "it is no louder than the noise": loudness(segment.samples) < noise,
    }
    held = [doubt for doubt, holds in doubts.items() if holds]
    # One doubt is not enough: a whispered word is unclear, and a short one resembles silence.
    least = 3 if segment.mean_voice >= CERTAIN_VOICE else 2
    return " and ".join(held) if len(held) >= least else None
