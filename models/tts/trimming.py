"""Trims the silence around a sentence while its audio is being synthesized."""

import numpy as np

from models.interfaces import Samples

LEAD_S = 0.015
"""Seconds of audio kept before the first sound, so that its onset is not cut off. Piper's audio
begins with 40–70 ms of silence."""
_FRAME_S = 0.005


class Trimmer:
    """Passes on the audio of a sentence from its first sound to a short pause after its last sound.

    Args:
        rate: sample rate in Hz.
        quiet: root mean square over 5 ms below which sound counts as silence.
        pause_s: maximum seconds of silence kept after the last sound.
    """

    def __init__(self, rate: int, quiet: float, pause_s: float) -> None:
        self._quiet = quiet
        self._frame = max(1, int(rate * _FRAME_S))
        self._lead = int(rate * LEAD_S)
        self._pause = int(rate * pause_s)
        self._held: Samples = np.empty(0, np.int16)
        self._began = False
        self.dropped = 0
        """Number of samples cut from the beginning so far."""

    def feed(self, samples: Samples) -> Samples:
        """Add samples; return the samples that can be passed on now.

        Silence is held back until a sound follows it.
        """
        known = np.concatenate((self._held, samples))
        loud = self._loud_frames(known)
        if not len(loud):
            self._held = known if self._began else self._without_lead(known, len(known))
            return np.empty(0, np.int16)
        if not self._began:
            lead = int(loud[0]) * self._frame
            known = self._without_lead(known, lead)
            loud = self._loud_frames(known)
            self._began = True
        end = (int(loud[-1]) + 1) * self._frame if len(loud) else 0
        self._held = known[end:]
        return known[:end]

    def finish(self) -> Samples:
        """End the sentence; return the pause after its last sound."""
        held, self._held = self._held, np.empty(0, np.int16)
        return held[: self._pause]

    def _without_lead(self, samples: Samples, silent: int) -> Samples:
        start = max(0, silent - self._lead)
        self.dropped += start
        return samples[start:]

    def _loud_frames(self, samples: Samples) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        count = len(samples) // self._frame
        frames = samples[: count * self._frame].astype(np.float32).reshape(count, self._frame)
        return np.flatnonzero(np.sqrt(np.mean(frames * frames, axis=1)) > self._quiet)
