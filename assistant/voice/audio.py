"""What the spoken loop knows of sound: a microphone, a loudspeaker, and the pieces they share.

All sound is mono int16. Devices live in `devices`, files in `recordings`.
"""

import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.interfaces import Samples

MIC_RATE = 16_000
"""Hz of everything that a microphone delivers."""
BLOCK = 320
"""Samples of one delivered block: 20 ms."""
WRITE_AHEAD_S = 0.06
"""How far ahead of the device a caller of `play` may be: bounds what an interruption loses."""
GAIN_RAMP_S = 0.02
"""Time in which the gain crosses its whole range; quicker is heard as a click."""
FADE_S = 0.004
"""What `flush` leaves, faded out, for the same reason."""

Deliver = Callable[[Samples, float], None]
"""Takes a block of BLOCK samples, and `time.monotonic()` of its end as it was captured."""
Reference = Callable[[Samples, int], None]
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

    def set_reference(self, sink: Reference | None) -> None:
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


class Resampler:
    """Streaming polyphase resampler that holds back under a millisecond.

    soxr's streams hold back 10 to 40 ms (measured), which an echo canceller's reference, the first
    sound of an answer and the end of a turn can't afford. Kaiser-windowed sinc, about 70 dB.
    """

    HALF_WIDTH = 16
    """Zero crossings on either side of the kernel."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        divisor = math.gcd(rate_in, rate_out)
        self._up, self._down = rate_out // divisor, rate_in // divisor
        self._same = rate_in == rate_out
        stretch = max(1.0, rate_in / rate_out)
        self._half = math.ceil(self.HALF_WIDTH * stretch)
        phases = np.arange(self._up)[:, None] / self._up
        offsets = np.arange(2 * self._half)[None, :] - (self._half - 1)
        distance = (offsets - phases) / stretch
        window = np.i0(7.0 * np.sqrt(np.clip(1 - (distance / self.HALF_WIDTH) ** 2, 0, 1)))
        kernels = np.sinc(distance * 0.94) * window
        self._kernels = (kernels / kernels.sum(axis=1, keepdims=True)).astype(np.float32)
        self._held: NDArray[np.float32] = np.zeros(0, np.float32)
        self._position = 0
        self.reset()

    def reset(self) -> None:
        """Forget what was held back."""
        self._held = np.zeros(self._half - 1, np.float32)
        self._position = 0

    def process(self, samples: Samples) -> Samples:
        """As many output samples as the input until now determines."""
        if self._same:
            return samples
        data = np.concatenate([self._held, samples.astype(np.float32)])
        # Output k lies at input position (position + k * down) / up, counted from held[half - 1].
        last = (len(data) - 2 * self._half + 1) * self._up - self._position
        count = -(-last // self._down) if last > 0 else 0
        if not count:
            self._held = data
            return np.zeros(0, np.int16)
        steps = self._position + np.arange(count) * self._down
        windows = sliding_window_view(data, 2 * self._half)[steps // self._up]
        out = np.einsum("ij,ij->i", windows, self._kernels[steps % self._up])
        after = self._position + count * self._down
        used = min(after // self._up, len(data))
        self._held, self._position = data[used:], after - used * self._up
        return to_int16(out)


class PlayQueue:
    """Sound between the event loop, which pushes and flushes, and the audio thread, which takes.

    The gain is applied on taking, so that it acts within one block and not after the queue.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.gain = 1.0
        self._gain_now = 1.0
        self._lock = threading.Lock()
        self._blocks: deque[Samples] = deque()
        self._queued = 0
        self._played = 0

    @property
    def queued(self) -> int:
        return self._queued

    @property
    def played(self) -> int:
        return self._played

    def push(self, samples: Samples) -> None:
        if len(samples):
            with self._lock:
                self._blocks.append(samples)
                self._queued += len(samples)

    def flush(self, *, fade: bool = True) -> int:
        """Drop all but, if `fade`, a few faded milliseconds; returns how many were dropped."""
        keep = int(FADE_S * self.rate) if fade else 0
        with self._lock:
            tail = self._pop(keep)
            dropped = self._queued
            self._blocks.clear()
            self._queued = 0
            if len(tail):
                ramp = np.linspace(1, 0, len(tail), dtype=np.float32)
                self._blocks.append((tail * ramp).astype(np.int16))
                self._queued = len(tail)
        return dropped

    def take(self, count: int) -> Samples | None:
        """The next `count` samples, filled up with zeros; None when there are none at all."""
        with self._lock:
            samples = self._pop(count)
            self._played += len(samples)
        if not len(samples):
            self._gain_now = self.gain
            return None
        if len(samples) < count:
            samples = np.concatenate([samples, np.zeros(count - len(samples), np.int16)])
        if self.gain == self._gain_now == 1.0:
            return samples
        return self._with_gain(samples)

    def _pop(self, count: int) -> Samples:
        parts: list[Samples] = []
        while count and self._blocks:
            block = self._blocks.popleft()
            if len(block) > count:
                self._blocks.appendleft(block[count:])
                block = block[:count]
            parts.append(block)
            count -= len(block)
            self._queued -= len(block)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.zeros(0, np.int16)

    def _with_gain(self, samples: Samples) -> Samples:
        before, target = self._gain_now, self.gain
        reach = np.arange(1, len(samples) + 1, dtype=np.float32) / (GAIN_RAMP_S * self.rate)
        if target >= before:
            ramp = np.minimum(before + reach, target)
        else:
            ramp = np.maximum(before - reach, target)
        self._gain_now = float(ramp[-1])
        return to_int16(samples * ramp)


class Renderer:
    """Makes the blocks that a device asks for, at the device's own rate, out of a `PlayQueue`."""

    def __init__(self, queue: PlayQueue, device_rate: int) -> None:
        self.queue = queue
        self.device_rate = device_rate
        self._resampler = Resampler(queue.rate, device_rate)
        self._ready: Samples = np.zeros(0, np.int16)
        self._idle = True

    def render(self, frames: int) -> Samples:
        """A fresh block of exactly `frames` samples; zeros where nothing is queued."""
        if self.device_rate == self.queue.rate:
            block = self.queue.take(frames)
            return np.zeros(frames, np.int16) if block is None else block
        while len(self._ready) < frames:
            short = frames - len(self._ready)
            wanted = math.ceil(short * self.queue.rate / self.device_rate)
            block = self.queue.take(wanted)
            if block is None and self._idle:
                self._ready = np.concatenate([self._ready, np.zeros(short, np.int16)])
                break
            self._idle = block is None
            if block is None:  # the end of a sound: push what the resampler holds through, once
                block = np.zeros(max(wanted, 2 * Resampler.HALF_WIDTH), np.int16)
            self._ready = np.concatenate([self._ready, self._resampler.process(block)])
        out, self._ready = self._ready[:frames], self._ready[frames:]
        return out
