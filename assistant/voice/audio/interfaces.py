"""The interfaces of the sound devices: a microphone, a loudspeaker, and what both share.

All sound is mono int16. Devices are in `devices`, file-based stand-ins in `files`.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.interfaces import Samples

MIC_RATE = 16_000
"""Sample rate, in Hz, of everything that a microphone delivers."""
BLOCK = 320
"""Samples per delivered block: 20 ms."""
WRITE_AHEAD_S = 0.06
"""Seconds that a caller of `play` may be ahead of the device; limits what an interruption drops."""

Deliver = Callable[[Samples, float], None]
"""Called with a block of BLOCK samples, and `time.monotonic()` when its last sample was
captured."""
OnPlayed = Callable[[Samples, int], None]
"""Called with the samples sent to the loudspeaker, zeros included, and their rate in Hz."""


class Microphone(Protocol):
    """Delivers int16 mono 16 kHz blocks of BLOCK samples in real time."""

    name: str

    async def open(self, deliver: Deliver) -> None:
        """Start; `deliver` is called on the event loop.

        Raises:
            DeviceMissing, DeviceBusy, AudioError.
        """

    async def close(self) -> None:
        """Stop; idempotent. `deliver` is not called any more once this returns."""


class Loudspeaker(Protocol):
    """Plays the samples it is given, and accounts for each.

    At any moment: accepted by `play` = `played()` + dropped by `flush` + still queued.
    """

    name: str
    sample_rate: int
    latency_s: float
    gain: float

    async def open(self, sample_rate: int) -> None:
        """Start; `play` takes sound at `sample_rate`, whatever the device's own rate.

        Raises:
            DeviceMissing, DeviceBusy, AudioError.
        """

    async def play(self, samples: Samples) -> None:
        """Accept all of `samples`. Returns once less than WRITE_AHEAD_S is queued, so that the
        caller is paced, or after a second at most if the device has stalled."""

    def played(self) -> int:
        """Samples handed to the device since `open`. What is heard lags behind by `latency_s`."""

    def flush(self) -> int:
        """Drop what is queued, at once; returns how many samples that were."""

    async def drain(self) -> None:
        """Wait until everything queued has been handed to the device."""

    async def close(self) -> None:
        """Stop; idempotent."""


def rms(samples: Samples) -> float:
    """Root mean square of 16-bit samples; 0 if there are none."""
    wide = samples.astype(np.float32)
    return math.sqrt(float(np.dot(wide, wide)) / max(1, len(wide)))


def dbfs(samples: Samples) -> float:
    """Root mean square in dB below full scale; silence is -100."""
    return max(-100.0, 10 * math.log10((rms(samples) / 32768) ** 2 + 1e-12))


def to_int16(samples: NDArray[np.float32]) -> Samples:
    """Round and clip samples to int16."""
    return np.clip(np.rint(samples), -32768, 32767).astype(np.int16)
