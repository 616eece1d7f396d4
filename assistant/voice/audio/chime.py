"""The soft sound that signals: I heard you, and you're done."""

import numpy as np

from models.interfaces import Samples

SECONDS = 0.07
LOUDNESS = 0.06
"""Peak, as a fraction of full scale: noticeable, not startling."""


def chime(sample_rate: int) -> Samples:
    """Two soft rising tones under one smooth envelope, mono int16."""
    time = np.arange(int(SECONDS * sample_rate)) / sample_rate
    envelope = np.sin(np.pi * time / SECONDS) ** 2
    tone = np.sin(2 * np.pi * 660 * time) + 0.6 * np.sin(2 * np.pi * 880 * time)
    samples: Samples = (tone / 1.6 * envelope * LOUDNESS * 32767).astype(np.int16)
    return samples
