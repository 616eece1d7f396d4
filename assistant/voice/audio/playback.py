"""The queue of sound that a loudspeaker has yet to play, with its gain and fades."""

import math
import threading
from collections import deque

import numpy as np

from assistant.voice.audio.interfaces import to_int16
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples

GAIN_RAMP_S = 0.02
"""Seconds in which the gain crosses its full range; anything faster is heard as a click."""
FADE_S = 0.004
"""Seconds of sound that `flush` keeps and fades out, so that it does not click."""


class PlayQueue:
    """Sound between the event loop, which pushes and flushes, and the audio thread, which takes.

    The gain is applied on taking, so that it acts within one block instead of after the queue.
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
        """Samples taken so far."""

    def push(self, samples: Samples) -> None:
        if len(samples):
            with self._lock:
                self._blocks.append(samples)
                self.queued += len(samples)

    def flush(self, *, fade: bool = True) -> int:
        """Drop everything, except a few faded milliseconds if `fade`; returns how many samples."""
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
        """The next `count` samples, padded with zeros; None if nothing is queued."""
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
    """Produces the blocks that a device asks for, at the device's rate, from a `PlayQueue`."""

    def __init__(self, queue: PlayQueue, device_rate: int) -> None:
        self.queue = queue
        self.device_rate = device_rate
        self._resampler = Resampler(queue.rate, device_rate)
        self._ready: Samples = np.zeros(0, np.int16)
        self._idle = True

    def render(self, frames: int) -> Samples:
        """A new block of exactly `frames` samples; zeros when nothing is queued."""
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
