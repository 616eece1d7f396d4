"""A microphone and a loudspeaker, each a callback stream of PortAudio.

`devices.SoundDevices` opens them, watches them and reopens them.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from assistant.errors import AudioError
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE, WRITE_AHEAD_S, Deliver, OnPlayed
from assistant.voice.audio.playback import PlayQueue, Renderer
from assistant.voice.audio.portaudio import (
    Device,
    DeviceKind,
    Opened,
    PortAudioThread,
    choose_device,
    list_devices,
    open_stream,
    start_stream,
)
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples

BLOCK_S = BLOCK / MIC_RATE
OUTPUT_LATENCY_S = 0.06
"""Seconds requested of the loudspeaker. With less, sound servers that wake every 50 ms run dry."""
STALL_S = 1.0
"""Longest that `play` waits for a stalled device, in seconds."""
LOST_AFTER_S = 1.5
"""Seconds without a callback after which a device is gone: PortAudio reports nothing."""


class StreamOwner(Protocol):
    """What a stream needs from the manager that owns it."""

    calls: PortAudioThread
    rest_after_s: float | None

    async def attach(self, stream: Any) -> None: ...

    async def detach(self, stream: Any) -> None: ...

    def holds(self, stream: Any) -> bool: ...


class Stream(ABC):
    """What both directions share: a stream, its device, and the time of its last callback."""

    kind: DeviceKind

    def __init__(self, devices: StreamOwner, wanted: str | None) -> None:
        self.name = wanted or f"default {self.kind}"
        self.latency_s = 0.0
        self._devices = devices
        self._wanted = wanted
        self._opened: Opened | None = None
        self._sign_of_life = 0.0
        self.resting = False
        self._ended = False

    def lost(self, now: float) -> bool:
        """The stream should be running, but isn't."""
        if self._ended:
            return True
        if self._opened is None or self.resting:
            return False
        return now - self._sign_of_life > LOST_AFTER_S

    def start(self) -> None:
        """Open the device as it is found now. Blocking; runs on PortAudio's thread."""
        device = choose_device(list_devices(), self.kind, self._wanted)
        self._ended = False
        opened = self._open(device)
        self._sign_of_life = time.monotonic()
        self.name = device.name
        self.latency_s = float(opened.stream.latency)
        self._opened = opened

    def abort(self) -> None:
        """End the stream, dead or alive. Blocking; runs on PortAudio's thread."""
        opened, self._opened = self._opened, None
        self.resting = self._ended = False
        if opened is not None:
            opened.stream.abort(ignore_errors=True)
            opened.stream.close(ignore_errors=True)

    @abstractmethod
    def _open(self, device: Device) -> Opened:
        """Open a running stream on this device. Blocking."""

    def _on_end(self) -> None:
        """Called from PortAudio's thread: the stream ended, by itself unless we stopped it."""
        if self._opened is not None and not self.resting:
            self._ended = True


class SoundDeviceMicrophone(Stream):
    """A microphone; see `interfaces.Microphone`. Created by `SoundDevices.microphone`."""

    kind: DeviceKind = "microphone"

    def __init__(self, devices: StreamOwner, wanted: str | None) -> None:
        super().__init__(devices, wanted)
        self._deliver: Deliver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._resampler: Resampler | None = None
        self._pending: Samples = np.zeros(0, np.int16)

    async def open(self, deliver: Deliver) -> None:
        self._loop = asyncio.get_running_loop()
        self._deliver = deliver
        await self._devices.attach(self)

    async def close(self) -> None:
        self._deliver = None
        await self._devices.detach(self)

    def _open(self, device: Device) -> Opened:
        self._pending = np.zeros(0, np.int16)
        opened = open_stream(
            device,
            self.kind,
            MIC_RATE,
            self._callback,
            self._on_end,
            block_s=BLOCK_S,
            latency="low",
        )
        self._resampler = Resampler(opened.rate, MIC_RATE)
        return opened

    def _callback(self, agreed: Opened) -> Callable[..., None]:
        loop, duration = self._loop, 1 / agreed.rate

        def captured(data: Any, frames: int, times: Any, _status: Any) -> None:
            now = self._sign_of_life = time.monotonic()
            # Age of the block's end. Some drivers leave times empty, or use another time base.
            age = times.currentTime - times.inputBufferAdcTime - frames * duration
            if not 0 < age < 0.5:
                age = 0.0
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(self._arrived, bytes(data), agreed.channels, now - age)

        return captured

    def _arrived(self, data: bytes, channels: int, end: float) -> None:
        """On the event loop: cut incoming data into blocks. `end` is the last sample's time."""
        samples: Samples = np.frombuffer(data, np.int16)
        if channels > 1:
            samples = samples.reshape(-1, channels).mean(axis=1).astype(np.int16)
        if self._resampler is not None:
            samples = self._resampler.process(samples)
        if len(self._pending):
            samples = np.concatenate([self._pending, samples])
        while len(samples) >= BLOCK and self._deliver is not None:
            block, samples = samples[:BLOCK], samples[BLOCK:]
            self._deliver(block, end - len(samples) / MIC_RATE)
        self._pending = samples


class SoundDeviceLoudspeaker(Stream):
    """A loudspeaker; see `interfaces.Loudspeaker`. Created by `SoundDevices.loudspeaker`."""

    kind: DeviceKind = "loudspeaker"

    def __init__(self, devices: StreamOwner, wanted: str | None) -> None:
        super().__init__(devices, wanted)
        self.sample_rate = 0
        self._queue = PlayQueue(1)
        self._reference: OnPlayed | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room = asyncio.Event()
        self._awaited = False
        self._used_at = 0.0
        self._switch = asyncio.Lock()

    @property
    def gain(self) -> float:
        return self._queue.gain

    @gain.setter
    def gain(self, value: float) -> None:
        self._queue.gain = value

    async def open(self, sample_rate: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.sample_rate = sample_rate
        gain, self._queue = self._queue.gain, PlayQueue(sample_rate)
        self._queue.gain = gain
        self._used_at = time.monotonic()
        await self._devices.attach(self)

    async def close(self) -> None:
        self._queue.flush()
        self._room.set()
        await self._devices.detach(self)

    def set_reference(self, sink: OnPlayed | None) -> None:
        self._reference = sink

    async def play(self, samples: Samples) -> None:
        self._queue.push(samples)
        self._used_at = time.monotonic()
        if self.resting:
            await self._wake()
        await self._wait_below(int(WRITE_AHEAD_S * self.sample_rate), STALL_S)

    def played(self) -> int:
        return self._queue.played

    def flush(self) -> int:
        dropped = self._queue.flush(fade=self._opened is not None and not self.resting)
        self._room.set()
        return dropped

    async def drain(self) -> None:
        while self._queue.queued and self._devices.holds(self):
            await self._wait_below(1, STALL_S)
        await asyncio.sleep(self.latency_s)

    async def rest(self) -> None:
        """Stop the stream if nothing was played for a while; `play` restarts it."""
        after = self._devices.rest_after_s
        async with self._switch:
            idle = time.monotonic() - self._used_at
            opened = self._opened
            if after is None or opened is None or self.resting or self._queue.queued:
                return
            if idle > after:
                self.resting = True
                await self._devices.calls.run(partial(opened.stream.abort, ignore_errors=True))

    async def _wake(self) -> None:
        async with self._switch:
            opened = self._opened
            if opened is None or not self.resting:
                return
            self._sign_of_life = time.monotonic()
            try:
                await self._devices.calls.run(start_stream, opened, self.kind)
            except AudioError:
                self._ended = True  # the watch reopens it; the queue is kept until then
            self.resting = False

    async def _wait_below(self, level: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self._queue.queued >= level:
            self._room.clear()
            self._awaited = True
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                    await self._room.wait()
            except TimeoutError:
                return

    def _open(self, device: Device) -> Opened:
        return open_stream(
            device,
            self.kind,
            self.sample_rate,
            self._callback,
            self._on_end,
            block_s=BLOCK_S,
            latency=OUTPUT_LATENCY_S,
        )

    def _callback(self, agreed: Opened) -> Callable[..., None]:
        renderer = Renderer(self._queue, agreed.rate)
        loop, level = self._loop, WRITE_AHEAD_S * self.sample_rate

        def asked(out: Any, frames: int, _times: Any, _status: Any) -> None:
            self._sign_of_life = time.monotonic()
            block = renderer.render(frames)
            view = np.frombuffer(out, np.int16).reshape(frames, agreed.channels)
            view[:] = block[:, None]
            if self._reference is not None:
                self._reference(block, agreed.rate)
            if self._awaited and renderer.queue.queued < level and loop is not None:
                self._awaited = False
                if not loop.is_closed():
                    loop.call_soon_threadsafe(self._room.set)

        return asked
