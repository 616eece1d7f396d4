"""The assistant's sounds that are not speech, synthesized once for the loudspeaker's rate."""

import numpy as np

from models.interfaces import Samples

CHIME_S = 0.07
CHIME_LOUDNESS = 0.06
"""Peak of the chime as a fraction of full scale, chosen to be noticeable but not startling."""
RING_S = 1.2
RING_LOUDNESS = 0.35
"""Peak of the bell as a fraction of full scale. It is about as loud as speech, since it has to be
heard in the next room."""
STROKES = ((0.0, 659.3), (0.2, 880.0), (0.4, 1108.7))
"""The strokes of the bell: the second at which each begins, and its pitch in Hz (E5, A5, C#6)."""
PARTIALS = ((1.0, 1.0, 0.3), (2.0, 0.35, 0.15), (4.0, 0.12, 0.06))
"""The tones of each stroke: their multiple of the pitch, their strength, and the seconds in which
they decay to a third."""
ATTACK_S = 0.005
RELEASE_S = 0.05
"""Seconds at the end in which the bell fades out, to avoid a click."""


def chime_sound(sample_rate: int) -> Samples:
    """Return the sound of the chime: two soft tones at once, with a smooth envelope."""
    time = np.arange(int(CHIME_S * sample_rate)) / sample_rate
    envelope = np.sin(np.pi * time / CHIME_S) ** 2
    tone = np.sin(2 * np.pi * 660 * time) + 0.6 * np.sin(2 * np.pi * 880 * time)
    samples: Samples = (tone / 1.6 * envelope * CHIME_LOUDNESS * 32767).astype(np.int16)
    return samples


def ring_sound(sample_rate: int) -> Samples:
    """Return the sound of the bell: three rising strokes that decay."""
    time = np.arange(int(RING_S * sample_rate)) / sample_rate
    tone = np.zeros_like(time)
    for start, pitch in STROKES:
        since = np.maximum(time - start, 0.0)
        attack = np.minimum(since / ATTACK_S, 1.0)
        for multiple, strength, decay_s in PARTIALS:
            wave = np.sin(2 * np.pi * pitch * multiple * since)
            tone += strength * attack * np.exp(-since / decay_s) * wave
    tone *= np.minimum((RING_S - time) / RELEASE_S, 1.0)
    samples: Samples = (tone / np.abs(tone).max() * RING_LOUDNESS * 32767).astype(np.int16)
    return samples
