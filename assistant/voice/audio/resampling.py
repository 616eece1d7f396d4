"""Converts streams of samples between sample rates."""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from assistant.voice.audio.interfaces import to_int16
from models.interfaces import Samples


class Resampler:
    """A streaming polyphase resampler with a delay below one millisecond.

    The kernel is a Kaiser-windowed sinc with a stop-band attenuation of about 70 dB. soxr's
    streaming resampler is not used, because it delays sound by 10 to 40 ms (measured). That is too
    much for the reference of echo cancellation, the first sound of an answer and the end of a turn.
    """

    HALF_WIDTH = 16
    """Number of zero crossings on each side of the kernel."""

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
        """Discard buffered input."""
        self._held = np.zeros(self._half - 1, np.float32)
        self._position = 0

    def process(self, samples: Samples) -> Samples:
        """Add input samples. Return the output samples that can be computed from the input so
        far."""
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
