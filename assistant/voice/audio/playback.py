"""The queue of samples for a loudspeaker, and the conversion to the device's sample rate."""

import math
import threading
from collections import deque

import numpy as np

from assistant.voice.audio.interfaces import to_int16
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples

GAIN_RAMP_S = 0.02
"""Seconds in which the gain changes from 0 to 1. A faster change is heard as a click."""
FADE_S = 0.004
"""Seconds of sound that `flush` leaves in the queue and fades out, to avoid a click."""


class PlayQueue:
    """A queue of samples. The event loop calls `push` and `flush`, the audio thread calls `take`.

    `take` applies the gain, so that a change affects the next block that is played.
    """

    def __init__(self, rate: int = 1) -> None:
        self.rate = rate
        """Samples per second."""
        self.gain = 1.0
        self._gain_now = 1.0
        self._lock = threading.Lock()
        self._blocks: deque[Samples] = deque()
        self.queued = 0
        self.played = 0
        """Number of samples taken so far."""

    def push(self, samples: Samples) -> None:
        if len(samples):
            with self._lock:
                self._blocks.append(samples)
                self.queued += len(samples)

    def flush(self, *, fade: bool = True) -> int:
        """Drop the queued samples. With `fade`, leave the first FADE_S seconds and fade them out.
        Return the number of samples dropped."""
        keep = int(FADE_S * self.rate) if fade else 0
        with self._lock:
            tail = self._pop(keep)
            dropped = self.queued
            self._blocks.clear()
            self.queued = 0
            if len(tail):
                ramp = np.linspace(1, 0, len(tail), dtype=np.float32)
                self._blocks.append((tail * ramp).astype(np.int16))
                self.queued = len(tail)
        return dropped

    def take(self, count: int) -> Samples | None:
        """Remove and return the next `count` samples, padded with zeros. Return None if nothing is
        queued."""
        with self._lock:
            samples = self._pop(count)
            self.played += len(samples)
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
            self.queued -= len(block)
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
    """Reads samples from a `PlayQueue` and converts them to the device's sample rate."""

    def __init__(self, queue: PlayQueue, device_rate: int) -> None:
        self.queue = queue
        self.device_rate = device_rate
        self._resampler = Resampler(queue.rate, device_rate)
        self._ready: Samples = np.zeros(0, np.int16)
        self._idle = True

    def render(self, frames: int) -> Samples:
        """Return the next `frames` samples at the device's rate; zeros if nothing is queued."""
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
            if block is None:  # the end of a sound: flush the resampler, once
                block = np.zeros(max(wanted, 2 * Resampler.HALF_WIDTH), np.int16)
            self._ready = np.concatenate([self._ready, self._resampler.process(block)])
        out, self._ready = self._ready[:frames], self._ready[frames:]
        return out
