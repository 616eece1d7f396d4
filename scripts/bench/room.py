"""Makes the sound of a room in which nobody speaks."""

from pathlib import Path

import numpy as np
import soundfile

from models.interfaces import STT_SAMPLE_RATE

ROOM_DBFS = -65.0
"""Level of a quiet room, recorded by a laptop's microphone."""
SETTLE_S = 3.0
"""Seconds to wait after the assistant is ready, so that the rest of the startup is not measured."""


def quiet_room(path: Path, seconds: float) -> Path:
    """Write noise whose level falls with frequency, as in real rooms."""
    steps = np.random.default_rng(0).standard_normal(int(seconds * STT_SAMPLE_RATE))
    sound = np.convolve(steps, 0.9 ** np.arange(64), mode="same")
    sound *= 10 ** (ROOM_DBFS / 20) / np.sqrt(np.mean(sound**2))
    soundfile.write(path, sound.astype(np.float32), STT_SAMPLE_RATE)
    return path


def of_starts(times: list[float]) -> dict[str, float]:
    """Summarise how many seconds several starts took; the first of them was a cold start."""
    warm = times[1:]
    found = {"first": times[0], "p50": float(np.median(warm)), "max": max(warm)}
    return {name: round(value, 2) for name, value in found.items()}
