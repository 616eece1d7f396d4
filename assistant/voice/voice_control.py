"""How loud and how fast the assistant speaks."""

from dataclasses import dataclass

import numpy as np

from models.interfaces import Samples

QUIETEST_DB, LOUDEST_DB = -24.0, 8.0
"""Limits of the volume. At the lower one, the voice can just be understood in a quiet room. Above
the upper one, the limiter would distort the voice."""
SLOWEST, FASTEST = 0.5, 2.0
"""Limits of the speed, as for the setting `tts.speed`."""
KNEE = 0.4
"""Level, as a fraction of full scale, above which an amplified voice is limited softly. The voice
has peaks of 0.75 at its own volume. Without a limiter, much louder peaks would be cut off."""


@dataclass(slots=True)
class VoiceControl:
    """The volume and the speed of the assistant's voice, which may be changed at any time. A new
    volume applies to the next sound that is played, a new speed to the next clause.

    Attributes:
        volume_db: the volume in dB; 0 is the voice's own.
        speed: 1.0 is the voice's own pace, and 2.0 is twice as fast.
    """

    volume_db: float = 0.0
    speed: float = 1.0

    def applied(self, samples: Samples) -> Samples:
        """Return the sound at the chosen volume. Peaks are limited softly, not cut off."""
        if not self.volume_db or not len(samples):
            return samples
        wave = samples.astype(np.float32) * (10 ** (self.volume_db / 20) / 32768)
        if self.volume_db > 0:
            room = 1 - KNEE
            over = np.maximum(np.abs(wave) - KNEE, 0) / room
            wave = np.where(over > 0, np.sign(wave) * (KNEE + room * np.tanh(over)), wave)
        changed: Samples = np.clip(np.rint(wave * 32768), -32768, 32767).astype(np.int16)
        return changed
