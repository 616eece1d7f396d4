"""Sounds to test with: synthetic voice-like signals and rooms, so that nobody owns them."""

import numpy as np
from numpy.typing import NDArray

from models.interfaces import Samples


def voice(seconds: float, seed: int, *, rate: int = 16_000, level: float = 0.06) -> Samples:
    """Syllables of a gliding pitch with moving formants, breath noise and pauses.

    `level` is the root mean square relative to full scale. The signal is not speech, but has its
    bandwidth, harmonics and unsteadiness, which is what matters to an echo canceller.
    """
    rng = np.random.default_rng(seed)
    pieces: list[NDArray[np.float64]] = []
    length = 0
    while length < seconds * rate:
        pieces.append(_syllable(rng, rate))
        pieces.append(np.zeros(int(rate * rng.choice([0.02, 0.06, 0.25], p=[0.5, 0.35, 0.15]))))
        length += len(pieces[-2]) + len(pieces[-1])
    sound = np.concatenate(pieces)[: int(seconds * rate)]
    sound *= level / np.sqrt(np.mean(sound**2))
    return np.asarray(np.clip(sound, -1, 1) * 32767, np.int16)


def _syllable(rng: np.random.Generator, rate: int) -> NDArray[np.float64]:
    count = int(rate * rng.uniform(0.08, 0.25))
    pitch = np.linspace(rng.uniform(90, 240), rng.uniform(90, 240), count)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = [(rng.uniform(low, high), width) for low, high, width in _FORMANTS]
    sound = np.zeros(count)
    for harmonic in range(1, 40):
        hertz = harmonic * pitch
        strength = sum(1 / (1 + ((hertz - centre) / width) ** 2) for centre, width in formants)
        sound += np.where(hertz < 0.45 * rate, strength, 0) * np.sin(harmonic * phase)
    sound += rng.standard_normal(count) * 0.15 * np.std(sound)
    return np.asarray(sound * np.hanning(count) ** 0.5)


_FORMANTS = ((250, 900, 90), (900, 2400, 140), (2200, 3500, 250))


def room(
    delay_s: float, seed: int, *, rate: int = 16_000, decay_s: float = 0.15
) -> NDArray[np.float64]:
    """An impulse response of unit energy: direct sound after `delay_s`, then a decaying tail."""
    rng = np.random.default_rng(seed)
    count = int(rate * decay_s)
    tail = rng.standard_normal(count) * np.exp(-6.9 * np.arange(count) / count) * 0.3
    tail[0] = 1
    tail /= np.sqrt(np.sum(tail**2))
    return np.concatenate([np.zeros(int(delay_s * rate)), tail])


def echo_of(sound: Samples, response: NDArray[np.float64]) -> NDArray[np.float64]:
    """`sound` as heard through the impulse response `response`, cut to the length of `sound`."""
    size = len(sound) + len(response) - 1
    spectrum = np.fft.rfft(sound.astype(float), size) * np.fft.rfft(response, size)
    return np.asarray(np.fft.irfft(spectrum, size)[: len(sound)])
