"""Stand-ins for audio devices: a microphone that plays recordings, and loudspeakers that write a
file or discard the sound.

Most of them run in real time, as devices do, so that the pipeline behaves the same.
"""

import asyncio
import contextlib
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
import soxr

from assistant.errors import AudioError, RecordingUnreadable
from assistant.voice.audio.interfaces import (
    BLOCK,
    MIC_RATE,
    WRITE_AHEAD_S,
    Deliver,
    to_int16,
)
from assistant.voice.audio.playback import PlayQueue
from assistant.voice.turns.endpointing import WINDOW
from models.interfaces import Samples

FLOOR_DBFS = -80.0
"""Level of the noise between recordings. Detectors expect the noise of a room, not digital zero."""
STEP = math.lcm(BLOCK, WINDOW) // BLOCK
"""Recordings start at multiples of this number of blocks. So the voice detector cuts a recording
into the same windows each time it is played, and its results can be repeated."""
TICK_S = 0.01
"""Seconds between two reads from the queue of a loudspeaker without a device."""
FORMATS = "WAV, FLAC, OGG, MP3 or AIFF"


def read_recording(path: Path) -> Samples:
    """Read an audio file of any sample rate and channel count. Return its sound as 16 kHz mono.

    Raises:
        RecordingUnreadable: the file is missing, is not audio, or contains no samples.
    """
    if not path.exists():
        raise RecordingUnreadable(f"There is no recording {path}.")
    if not path.is_file():
        raise RecordingUnreadable(f"{path} is not a file, so it can't be a recording.")
    try:
        if path.stat().st_size == 0:
            raise RecordingUnreadable(f"The recording {path} is empty: it has no bytes.")
        with path.open("rb") as file:
            samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordingUnreadable(f"The recording {path} can't be read: {reason}.") from error
    except soundfile.LibsndfileError as error:
        raise RecordingUnreadable(
            f"{path} is not a readable audio file.", mend=f"Convert it to {FORMATS}."
        ) from error
    if not len(samples):
        raise RecordingUnreadable(f"The recording {path} contains no sound: its length is zero.")
    mono = np.nan_to_num(samples.mean(axis=1))
    if rate != MIC_RATE:
        mono = soxr.resample(mono, rate, MIC_RATE)
    return to_int16(mono * 32768.0)


class FileMicrophone:
    """Delivers recordings in real time, with the faint noise of a silent room between them.

    The first recording starts `lead_in_s` seconds after `open`. Each later recording starts after a
    call of `next`.
    """

    def __init__(self, recordings: Sequence[Path | Samples], *, lead_in_s: float = 0.3) -> None:
        self._sounds = [read_recording(r) if isinstance(r, Path) else r for r in recordings]
        self.name = ", ".join(r.name for r in recordings if isinstance(r, Path)) or "recording"
        self.starts: list[float] = []
        """`time.monotonic()` at the first sample of each recording."""
        self.ends: list[float] = []
        """`time.monotonic()` at the last sample of each recording that has ended."""
        self.waiting = asyncio.Event()
        """Set when a recording has ended and the next one waits for a call of `next`."""
        self.exhausted = asyncio.Event()
        """Set when the last recording has ended."""
        self._lead_in_s = lead_in_s
        level = 32768 * 10 ** (FLOOR_DBFS / 20)
        noise = np.random.default_rng(0).standard_normal(MIC_RATE) * level
        self._noise = to_int16(noise.astype(np.float32))
        self._allowed = 1
        self._position = -1
        self._pump: asyncio.Task[None] | None = None

    async def open(self, deliver: Deliver) -> None:
        if self._pump is None:
            if not self._sounds:
                self.exhausted.set()
            self._pump = asyncio.create_task(self._run(deliver))

    async def close(self) -> None:
        pump, self._pump = self._pump, None
        if pump is not None:
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    def next(self) -> None:
        """Let the next recording start."""
        self._allowed += 1
        self.waiting.clear()

    async def _run(self, deliver: Deliver) -> None:
        start = time.monotonic()
        lead_in = int(self._lead_in_s * MIC_RATE / BLOCK)
        number = 0
        while True:
            number += 1
            captured = start + number * BLOCK / MIC_RATE
            late = captured - time.monotonic()
            # Sleep even when late: after a stall, blocks arrive in a burst, as from a device.
            await asyncio.sleep(max(0.0, late))
            block = self._silence(number)
            if number > lead_in and (self._position >= 0 or number % STEP == 1):
                self._mix_in(block, captured)
            deliver(block, captured)

    def _silence(self, number: int) -> Samples:
        """Return block `number` of the faint noise. The blocks repeat after `STEP` numbers."""
        offset = number % STEP * 7919 % (len(self._noise) - BLOCK)
        return self._noise[offset : offset + BLOCK].copy()

    def _mix_in(self, block: Samples, captured: float) -> None:
        """Overwrite the noise in `block` with the next samples of the current recording, if any.
        `captured` is the time of the block's end."""
        index = len(self.ends)
        if index >= len(self._sounds) or index >= self._allowed:
            return
        sound = self._sounds[index]
        if self._position < 0:
            self._position = 0
            self.starts.append(captured - BLOCK / MIC_RATE)
        piece = sound[self._position : self._position + BLOCK]
        block[: len(piece)] = piece
        self._position += len(piece)
        if self._position < len(sound):
            return
        self.ends.append(captured - (BLOCK - len(piece)) / MIC_RATE)
        self._position = -1
        if len(self.ends) == len(self._sounds):
            self.exhausted.set()
        elif len(self.ends) >= self._allowed:
            self.waiting.set()


class NullLoudspeaker:
    """Discards sound at the speed at which a device would play it."""

    name = "no loudspeaker"
    latency_s = 0.0

    def __init__(self) -> None:
        self.sample_rate = 0
        self._queue = PlayQueue()
        self._room = asyncio.Event()
        self._clock: asyncio.Task[None] | None = None

    @property
    def gain(self) -> float:
        return self._queue.gain

    @gain.setter
    def gain(self, value: float) -> None:
        self._queue.gain = value

    async def open(self, sample_rate: int) -> None:
        if self._clock is not None:
            return
        self.sample_rate = self._queue.rate = sample_rate
        self._clock = asyncio.create_task(self._run())
        self._clock.add_done_callback(lambda _: self._room.set())

    async def play(self, samples: Samples) -> None:
        self._queue.push(samples)
        while self._clock is not None and self._queue.queued >= WRITE_AHEAD_S * self.sample_rate:
            await self._ticked()

    def played(self) -> int:
        return self._queue.played

    def flush(self) -> int:
        return self._queue.flush()

    async def drain(self) -> None:
        while self._clock is not None and self._queue.queued:
            await self._ticked()

    async def close(self) -> None:
        clock, self._clock = self._clock, None
        if clock is not None:
            clock.cancel()
            self._room.set()
            # An error of the task has been raised by `play`; it must not prevent closing.
            await asyncio.gather(clock, return_exceptions=True)

    async def _ticked(self) -> None:
        if self._clock is not None and self._clock.done():
            self._clock.result()
        self._room.clear()
        await self._room.wait()

    async def _run(self) -> None:
        start = time.monotonic()
        done = 0
        while True:
            await asyncio.sleep(TICK_S)
            due = int((time.monotonic() - start) * self.sample_rate)
            if due <= done:
                continue
            block = self._queue.take(due - done)
            self._rendered(np.zeros(due - done, np.int16) if block is None else block)
            done = due
            self._room.set()

    def _rendered(self, block: Samples) -> None:
        """Called with each block that has been played; for subclasses."""


class WavLoudspeaker(NullLoudspeaker):
    """Writes the sound that a device would have played, including gain, interruptions and silences,
    to a WAV file.

    The complete file appears when the loudspeaker is closed or its task is cancelled.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.name = str(path)
        self._path = path
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._file: soundfile.SoundFile | None = None

    async def open(self, sample_rate: int) -> None:
        if self._file is None:
            try:
                self._part.touch()
                self._file = soundfile.SoundFile(
                    self._part, "w", sample_rate, channels=1, subtype="PCM_16", format="WAV"
                )
            except (OSError, soundfile.LibsndfileError) as error:
                raise self._unwritable(error) from error
        await super().open(sample_rate)

    async def close(self) -> None:
        self._finish()  # before any await, at which closing could be cancelled
        await super().close()

    async def _run(self) -> None:
        try:
            await super()._run()
        finally:
            self._finish()

    def _rendered(self, block: Samples) -> None:
        if self._file is None:
            return
        try:
            self._file.write(block)
        except (OSError, soundfile.LibsndfileError) as error:
            raise self._unwritable(error) from error

    def _finish(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self._part.replace(self._path)

    def _unwritable(self, error: Exception) -> AudioError:
        reason = getattr(error, "strerror", None) or str(error)
        return AudioError(f"{self._path} can't be written: {reason}.")


class InstantLoudspeaker:
    """Counts all sound as played immediately, without playing it. For typed conversations, in which
    an answer counts as heard once it is written."""

    name = "no loudspeaker"
    latency_s = 0.0

    def __init__(self) -> None:
        self.sample_rate = 0
        self.gain = 1.0
        self._played = 0

    async def open(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate

    async def play(self, samples: Samples) -> None:
        self._played += len(samples)
        await asyncio.sleep(0)

    def played(self) -> int:
        return self._played

    def flush(self) -> int:
        return 0

    async def drain(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        """Do nothing, since there is no device to close."""
