"""The interfaces of microphones and loudspeakers, and functions on samples.

All sound is mono int16. The module `devices` implements the interfaces for real devices, `files`
for audio files.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.interfaces import Samples

MIC_RATE = 16_000
"""Sample rate of the microphone's blocks, in Hz."""
BLOCK = 320
"""Number of samples per block from the microphone (20 ms)."""
WRITE_AHEAD_S = 0.06
"""Seconds of queued sound at which `play` waits for the device. It is short, so that an
interruption drops little sound."""

Deliver = Callable[[Samples, float], None]
"""Called with a block of BLOCK samples, and the `time.monotonic()` at which its last sample was
captured."""
OnPlayed = Callable[[Samples, int], None]
"""Called with the samples sent to the loudspeaker, including zeros, and their rate in Hz."""


class Microphone(Protocol):
    """Delivers blocks of BLOCK samples at 16 kHz in real time."""

    name: str

    async def open(self, deliver: Deliver) -> None:
        """Start capturing.

        Args:
            deliver: called on the event loop with each block.

        Raises:
            DeviceMissing: there is no such microphone.
            DeviceBusy: another program uses the microphone.
            AudioError: the microphone can't be opened for another reason.
        """

    async def close(self) -> None:
        """Stop capturing. After this returns, `deliver` is not called again. Idempotent."""


class Loudspeaker(Protocol):
    """Plays samples, and counts them.

    At any time, the number of samples given to `play` is the sum of those played, those dropped by
    `flush`, and those still queued.
    """

    name: str
    sample_rate: int
    latency_s: float
    gain: float

    async def open(self, sample_rate: int) -> None:
        """Open the loudspeaker.

        Args:
            sample_rate: the rate of the samples given to `play`, in Hz. The device may have another
                rate.

        Raises:
            DeviceMissing: there is no such loudspeaker.
            DeviceBusy: another program uses the loudspeaker.
            AudioError: the loudspeaker can't be opened for another reason.
        """

    async def play(self, samples: Samples) -> None:
        """Queue all of `samples`, then wait until less than WRITE_AHEAD_S seconds are queued. If
        the device has stalled, wait for a second at most."""

    def played(self) -> int:
        """Return the number of samples passed to the device since `open`. They are heard
        `latency_s` seconds later."""

    def flush(self) -> int:
        """Drop the queued samples at once. Return the number of samples dropped."""

    async def drain(self) -> None:
        """Wait until all queued samples have been passed to the device."""

    async def close(self) -> None:
        """Stop playing and close the loudspeaker. Idempotent."""


def rms(samples: Samples) -> float:
    """Return the root mean square of 16-bit samples, or 0 if there are none."""
    wide = samples.astype(np.float32)
    return math.sqrt(float(np.dot(wide, wide)) / max(1, len(wide)))


def dbfs(samples: Samples) -> float:
    """Return the root mean square of 16-bit samples in dB relative to full scale, at least -100."""
    return max(-100.0, 10 * math.log10((rms(samples) / 32768) ** 2 + 1e-12))


def to_int16(samples: NDArray[np.float32]) -> Samples:
    """Round and clip samples to int16."""
    return np.clip(np.rint(samples), -32768, 32767).astype(np.int16)
