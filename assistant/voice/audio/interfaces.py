"""What the spoken loop knows of sound: a microphone, a loudspeaker, and the pieces they share.

All sound is mono int16. Devices live in `devices`, files in `recordings`.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.interfaces import Samples

MIC_RATE = 16_000
"""Hz of everything that a microphone delivers."""
BLOCK = 320
"""Samples of one delivered block: 20 ms."""
WRITE_AHEAD_S = 0.06
"""How far ahead of the device a caller of `play` may be: bounds what an interruption loses."""

Deliver = Callable[[Samples, float], None]
"""Takes a block of BLOCK samples, and `time.monotonic()` of its end as it was captured."""
OnPlayed = Callable[[Samples, int], None]
"""Takes what goes to the loudspeaker, zeros included, and its rate in Hz."""


class Microphone(Protocol):
    """Delivers int16 mono 16 kHz blocks of BLOCK samples in real time."""

    name: str

    async def open(self, deliver: Deliver) -> None:
        """Begin; `deliver` is called on the event loop.

        Raises:
            DeviceMissing, DeviceBusy, AudioError.
        """

    async def close(self) -> None:
        """End; idempotent. `deliver` is not called any more once it returns."""


class Loudspeaker(Protocol):
    """Plays what it is given, and accounts for every sample of it.

    At any moment: accepted by `play` = `played()` + dropped by `flush` + still queued.
    """

    name: str
    sample_rate: int
    latency_s: float
    gain: float

    async def open(self, sample_rate: int) -> None:
        """Begin; `play` takes `sample_rate` whatever the device's own is.

        Raises:
            DeviceMissing, DeviceBusy, AudioError.
        """

    async def play(self, samples: Samples) -> None:
        """Accept all of `samples`; returns when less than WRITE_AHEAD_S is queued, so that the
        caller is paced, or after a second at most when the device stands still."""

    def played(self) -> int:
        """Accepted samples handed to the device since `open`. What is heard lags `latency_s`."""

    def flush(self) -> int:
        """Drop what is queued, at once; returns how many accepted samples that were."""

    async def drain(self) -> None:
        """Wait until all that is queued has been handed to the device."""

    async def close(self) -> None:
        """End; idempotent."""

    def set_reference(self, sink: OnPlayed | None) -> None:
        """Send exactly what goes to the device to `sink`, called from the audio thread."""


def dbfs(samples: Samples) -> float:
    """Root mean square in dB below full scale; silence is -100."""
    if not len(samples):
        return -100.0
    wide = samples.astype(np.float32)
    power = float(np.dot(wide, wide)) / len(wide)
    return max(-100.0, 10 * math.log10(power / 32768.0**2 + 1e-12))


def to_int16(samples: NDArray[np.float32]) -> Samples:
    """Samples in int16's range, rounded and clipped."""
    return np.clip(np.rint(samples), -32768, 32767).astype(np.int16)
