"""Speaks texts with the voices on this machine, and adds noise."""

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from assistant.errors import AssistantError
from assistant.voice.audio.interfaces import to_int16
from assistant.voice.audio.resampling import Resampler
from models.catalogue import Engine
from models.download import ModelState, ModelStore
from models.interfaces import STT_SAMPLE_RATE, Samples
from models.tts.piper import Piper

SPEEDS = (0.8, 1.0, 1.3)
ESPEAK = "espeak-ng"
ESPEAK_VOICES = ("en-us", "en-gb+f3", "en-gb-scotland+m3")
"""An American man, an English woman and another man with a Scottish accent."""
ESPEAK_WORDS_PER_MIN = 160
MARGIN_S = 0.3
"""Seconds of silence, or of noise alone, before and after an utterance."""
PITCHES = (0.85, 0.92, 1.0, 1.06, 1.13, 1.2)
"""Factors for the pitch of each voice in babble, since this machine may have only a few voices."""

Wave = NDArray[np.float32]


class VoiceFailed(AssistantError):
    """A speech synthesis program has failed."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice at one speed, where 1.0 is its own pace. `say` returns sound at 16 kHz."""

    name: str
    speed: float
    say: Callable[[str], Samples]


def voices_here(store: ModelStore) -> list[Voice]:
    """Every voice of the catalogue that is in the cache, and some of espeak-ng's if it is
    installed, at every speed. A voice is loaded when it first speaks.

    Raises:
        ModelCorrupt: a voice is damaged.
    """
    found = []
    for name, model in store.catalogue.models.items():
        if model.engine is not Engine.PIPER or store.state(name) is not ModelState.READY:
            continue
        for speed in SPEEDS:
            piper = Piper(store.weights(name), speed)
            found.append(Voice(name, speed, functools.partial(_by_piper, piper)))
    if shutil.which(ESPEAK) is not None:
        for name in ESPEAK_VOICES:
            for speed in SPEEDS:
                say = functools.partial(_by_espeak, name, round(ESPEAK_WORDS_PER_MIN * speed))
                found.append(Voice(f"{ESPEAK} {name}", speed, say))
    return found


def _by_piper(piper: Piper, text: str) -> Samples:
    piper.load()
    pieces = [piece.samples for piece in piper.synthesize(text)]
    return _at_stt_rate(np.concatenate(pieces), piper.sample_rate)


def _by_espeak(voice: str, words_per_min: int, text: str) -> Samples:
    with tempfile.TemporaryDirectory(prefix="espeak-") as folder:
        file = Path(folder) / "said.wav"
        command = [ESPEAK, "-v", voice, "-s", str(words_per_min), "-w", str(file), "--stdin"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode or not file.exists():
            raise VoiceFailed(f"{ESPEAK} failed: {done.stderr.strip() or done.returncode}.")
        samples, rate = soundfile.read(file, dtype="int16")
    return _at_stt_rate(np.asarray(samples, np.int16), int(rate))


def _at_stt_rate(samples: Samples, rate: int) -> Samples:
    return Resampler(rate, STT_SAMPLE_RATE).process(samples)


def with_margins(sound: Samples) -> Samples:
    return np.pad(sound, int(MARGIN_S * STT_SAMPLE_RATE))


def pink_noise(count: int, rng: np.random.Generator) -> Wave:
    """Noise whose power falls by 3 dB an octave."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    return np.fft.irfft(spectrum, count).astype(np.float32)


def babble(spoken: Sequence[Samples], count: int, rng: np.random.Generator) -> Wave:
    """Voices that speak at the same time, without pauses and equally loud. `spoken` is what they
    say."""
    people = np.zeros(count, np.float32)
    for pitch in PITCHES:
        parts: list[Samples] = []
        while sum(map(len, parts)) < count:
            parts.append(_raised(spoken[int(rng.integers(len(spoken)))], pitch))
        one = np.concatenate(parts)[:count].astype(np.float32)
        people += one / max(1.0, _level(one))
    return people


def _raised(sound: Samples, pitch: float) -> Samples:
    places = np.arange(0, len(sound) - 1, pitch)
    raised: Samples = np.interp(places, np.arange(len(sound)), sound).astype(np.int16)
    return raised


def noisy(sound: Samples, noise: Wave, snr_db: float, rng: np.random.Generator) -> Samples:
    """The sound with a random part of the noise behind it. The sound's mean level, digital silence
    excluded, is `snr_db` above the noise's."""
    start = int(rng.integers(max(1, len(noise) - len(sound))))
    part = np.resize(noise[start:], len(sound))
    spoken = sound[np.flatnonzero(sound)] if sound.any() else sound
    gain = _level(spoken.astype(np.float32)) / max(1e-9, _level(part)) * 10 ** (-snr_db / 20)
    mixed = sound.astype(np.float32) + gain * part
    loudest = max(1.0, float(np.abs(mixed).max()))
    return to_int16((mixed * min(1.0, 32767 / loudest)).astype(np.float32))


def _level(wave: Wave) -> float:
    return float(np.sqrt(np.mean(np.square(wave)))) if len(wave) else 0.0
