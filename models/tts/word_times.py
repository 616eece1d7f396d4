"""Estimates when each word of a spoken clause is heard, from its text and its audio."""

import re

import numpy as np

from models.interfaces import Samples, WordTime
from models.tts.alignment import estimated_phonemes

PAUSES = {",": 3.5, ";": 4.5, ":": 4.5, ".": 6.0, "!": 6.0, "?": 6.0}
"""The length of the pause at each mark, in sounds."""
BETWEEN_WORDS = 0.7
_FRAME_S = 0.01


def estimate_word_times(text: str, samples: Samples, sample_rate: int) -> list[WordTime]:
    """Times in `samples` of the words of `text`, which are separated by white space.

    The duration, without leading and trailing silence, is divided in proportion to each word's
    number of sounds. Boundaries after punctuation then move to the nearest gap in the audio.
    """
    words = list(re.finditer(r"\S+", text))
    if not words or not len(samples):
        return []
    first, last, gaps = _activity(samples, sample_rate)
    weights = [estimated_phonemes(word[0]) for word in words]
    pauses = [PAUSES.get(word[0][-1], BETWEEN_WORDS) for word in words[:-1]] + [0.0]
    per_sound = (last - first) / (sum(weights) + sum(pauses))
    at, times = first, []
    for index, (word, weight, pause) in enumerate(zip(words, weights, pauses, strict=True)):
        end = at + weight * per_sound
        following = end + pause * per_sound
        if pause > BETWEEN_WORDS and index < len(words) - 1:
            gap = _nearest(gaps, end, following, 8 * per_sound)
            if gap is not None:
                end, following = gap
                rest = sum(weights[index + 1 :]) + sum(pauses[index + 1 :])
                per_sound = max(0.0, last - following) / rest
        times.append(WordTime(word.start(), word.end(), round(at, 4), round(end, 4)))
        at = following
    return times


def _activity(samples: Samples, sample_rate: int) -> tuple[float, float, list[tuple[float, float]]]:
    """First and last sound, and the gaps of 50 ms or more between them, in seconds."""
    size = max(1, int(sample_rate * _FRAME_S))
    count = len(samples) // size
    duration = len(samples) / sample_rate
    if count < 3:
        return 0.0, duration, []
    frames = samples[: count * size].astype(np.float32).reshape(count, size)
    level = np.sqrt(np.mean(frames * frames, axis=1))
    loud = np.flatnonzero(level > max(30.0, 0.04 * float(np.percentile(level, 90))))
    if len(loud) < 2:
        return 0.0, duration, []
    jumps = np.flatnonzero(np.diff(loud) > 5)
    gaps = [((loud[j] + 1) * _FRAME_S, loud[j + 1] * _FRAME_S) for j in jumps]
    first, last = float(loud[0]) * _FRAME_S, float(loud[-1] + 1) * _FRAME_S
    return first, min(last, duration), [(float(a), float(b)) for a, b in gaps]


def _nearest(
    gaps: list[tuple[float, float]], start: float, end: float, reach: float
) -> tuple[float, float] | None:
    """The gap whose middle is nearest to that of `start`…`end`, if within `reach` seconds."""
    middle = (start + end) / 2
    near = min(gaps, key=lambda gap: abs((gap[0] + gap[1]) / 2 - middle), default=None)
    if near is None or abs((near[0] + near[1]) / 2 - middle) > reach:
        return None
    return near
