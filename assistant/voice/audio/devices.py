"""Opens the machine's microphone and loudspeaker, and reopens them after they were lost.

Each device is a PortAudio stream with a callback.
"""

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from assistant.errors import AudioError, DeviceMissing
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
    reinitialise,
    start_stream,
)
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples

OnState = Callable[[str, bool], None]
"""Called with a sentence for the user, and with True if sound works now."""

BLOCK_S = BLOCK / MIC_RATE
OUTPUT_LATENCY_S = 0.06
"""Requested latency, in seconds. A lower one causes gaps if a sound server wakes every 50 ms."""
STALL_S = 1.0
"""Maximum number of seconds that `play` waits for a stalled device."""
LOST_AFTER_S = 1.5
"""Seconds without a callback after which a device counts as lost. PortAudio itself reports no
error."""
WATCH_S = 0.5
SLEPT_S = 10.0
"""If the wall clock gains this many seconds on the monotonic clock, the computer was asleep."""
RETRY_S = (0.3, 0.5, 1.0, 2.0)
CLOSE_S = 1.0
"""Seconds after which a device that has not closed is abandoned."""
REST_AFTER_S = 10.0 if sys.platform == "linux" else None
"""Seconds after which an idle output stream is stopped. None keeps it running, at about 1 % of a
core. Restarting takes 1 ms on Linux, but delays the first word with Bluetooth on macOS. A shorter
time would restart the stream within a conversation, which shifts the echo's delay."""


class Stream(ABC):
    """The base class of microphone and loudspeaker: a stream that can be lost and reopened."""

    kind: DeviceKind

    def __init__(self, devices: "SoundDevices", wanted: str | None) -> None:
        self.name = wanted or f"default {self.kind}"
        self.latency_s = 0.0
        self._devices = devices
        self._wanted = wanted
        self._opened: Opened | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sign_of_life = 0.0
        self.resting = False
        self._ended = False

    def lost(self, now: float) -> bool:
        """Whether the stream ended by itself, or has had no callback for LOST_AFTER_S seconds."""
        if self._ended:
            return True
        if self._opened is None or self.resting:
            return False
        return now - self._sign_of_life > LOST_AFTER_S

    def start(self) -> None:
        """Find the device again and open it. Blocks; call this on PortAudio's thread."""
        device = choose_device(list_devices(), self.kind, self._wanted)
        self._ended = False
        opened = self._open(device)
        self._sign_of_life = time.monotonic()
        self.name = device.name
        self.latency_s = float(opened.stream.latency)
        self._opened = opened

    def abort(self) -> None:
        """End the stream if there is one. Blocks; call this on PortAudio's thread."""
        opened, self._opened = self._opened, None
        self.resting = self._ended = False
        if opened is not None:
            opened.stream.abort(ignore_errors=True)
            opened.stream.close(ignore_errors=True)

    @abstractmethod
    def _open(self, device: Device) -> Opened:
        """Open and start a stream on this device. Blocks."""

    def _on_end(self) -> None:
        """Note that the stream has ended, unless it was stopped on purpose. Called by PortAudio."""
        if self._opened is not None and not self.resting:
            self._ended = True


class SoundDeviceMicrophone(Stream):
    """A microphone of this machine. Create it with `SoundDevices.microphone`."""

    kind: DeviceKind = "microphone"

    def __init__(self, devices: "SoundDevices", wanted: str | None) -> None:
        super().__init__(devices, wanted)
        self._deliver: Deliver | None = None
        self._resampler = Resampler(MIC_RATE, MIC_RATE)
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
            # Age of the block's last sample. Some drivers give no times, or use another time base.
            age = times.currentTime - times.inputBufferAdcTime - frames * duration
            if not 0 < age < 0.5:
                age = 0.0
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(self._arrived, bytes(data), agreed.channels, now - age)

        return captured

    def _arrived(self, data: bytes, channels: int, end: float) -> None:
        """Cut captured data into blocks and deliver them. `end` is the last sample's time."""
        samples: Samples = np.frombuffer(data, np.int16)
        if channels > 1:
            samples = samples.reshape(-1, channels).mean(axis=1).astype(np.int16)
        samples = np.concatenate([self._pending, self._resampler.process(samples)])
        while len(samples) >= BLOCK and self._deliver is not None:
            block, samples = samples[:BLOCK], samples[BLOCK:]
            self._deliver(block, end - len(samples) / MIC_RATE)
        self._pending = samples


class SoundDeviceLoudspeaker(Stream):
    """A loudspeaker of this machine. Create it with `SoundDevices.loudspeaker`."""

    kind: DeviceKind = "loudspeaker"

    def __init__(self, devices: "SoundDevices", wanted: str | None) -> None:
        super().__init__(devices, wanted)
        self.sample_rate = 0
        self._queue = PlayQueue()
        self._reference: OnPlayed | None = None
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

    def set_reference(self, sink: OnPlayed) -> None:
        """Set a function that the audio thread calls with all samples that the device plays."""
        self._reference = sink

    async def open(self, sample_rate: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.sample_rate = self._queue.rate = sample_rate
        self._used_at = time.monotonic()
        await self._devices.attach(self)

    async def close(self) -> None:
        self._queue.flush()
        self._room.set()
        await self._devices.detach(self)

    async def play(self, samples: Samples) -> None:
        self._queue.push(samples)
        self._used_at = time.monotonic()
        if self.resting:
            await self._wake()
        await self._wait_below(int(WRITE_AHEAD_S * self.sample_rate))

    def played(self) -> int:
        return self._queue.played

    def flush(self) -> int:
        dropped = self._queue.flush(fade=self._opened is not None and not self.resting)
        self._room.set()
        return dropped

    async def drain(self) -> None:
        while self._queue.queued and self._devices.holds(self):
            await self._wait_below(1)
        await asyncio.sleep(self.latency_s)

    async def rest(self) -> None:
        """Stop the stream if nothing has been played for a while. `play` restarts the stream."""
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
                self._ended = True  # `_run_watch` reopens the stream, then the queue is played
            self.resting = False

    async def _wait_below(self, level: int) -> None:
        """Wait until fewer than `level` samples are queued, but no longer than STALL_S."""
        deadline = time.monotonic() + STALL_S
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
            if self._awaited and self._queue.queued < level and loop is not None:
                self._awaited = False
                if not loop.is_closed():
                    loop.call_soon_threadsafe(self._room.set)

        return asked


class SoundDevices:
    """Opens streams, and reopens all of them when one is lost.

    A stream's callbacks stop when a device is unplugged, the default device changes or the computer
    sleeps. If that happens, all streams are closed, and PortAudio is restarted, because it looks
    for devices only when it starts. Opening the streams is retried until it succeeds.

    Args:
        on_state: called on the event loop when sound is lost and when it works again.
        rest_after_s: seconds after which an idle output stream is stopped; None keeps it running.
    """

    def __init__(
        self,
        on_state: OnState = lambda _sentence, _works: None,
        *,
        rest_after_s: float | None = REST_AFTER_S,
    ) -> None:
        self.calls = PortAudioThread()
        self.rest_after_s = rest_after_s
        self._on_state = on_state
        self._streams: list[Stream] = []
        self._changing = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    def microphone(self, wanted: str | None = None) -> SoundDeviceMicrophone:
        """Create the microphone with the number or part of a name `wanted`, or the default one."""
        return SoundDeviceMicrophone(self, wanted)

    def loudspeaker(self, wanted: str | None = None) -> SoundDeviceLoudspeaker:
        """Create the loudspeaker with the number or part of a name `wanted`, or the default one."""
        return SoundDeviceLoudspeaker(self, wanted)

    def holds(self, stream: Stream) -> bool:
        return stream in self._streams

    async def attach(self, stream: Stream) -> None:
        """Open `stream` and start watching it."""
        async with self._changing:
            if stream in self._streams:
                return
            await self.calls.run(self._start, stream)
            self._streams.append(stream)
            if self._watch is None:
                self._watch = asyncio.create_task(self._run_watch())

    async def detach(self, stream: Stream) -> None:
        """Close `stream` and stop watching it."""
        if stream in self._streams:
            self._streams.remove(stream)
        if not self._streams and self._watch is not None:
            self._watch.cancel()
            self._watch = None
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.calls.run(stream.abort)
        except TimeoutError:
            self._on_state(f'The {stream.kind} "{stream.name}" is not closing.', False)

    def _start(self, stream: Stream) -> None:
        try:
            stream.start()
        except DeviceMissing:
            if self._streams:
                raise
            reinitialise()  # the device may have been plugged in since PortAudio listed devices
            stream.start()

    async def _run_watch(self) -> None:
        ahead = time.time() - time.monotonic()
        while True:
            await asyncio.sleep(WATCH_S)
            drift, ahead = time.time() - time.monotonic() - ahead, time.time() - time.monotonic()
            now = time.monotonic()
            lost = [stream for stream in self._streams if stream.lost(now)]
            if lost or drift > SLEPT_S:
                await self._recover(lost)
                continue
            for stream in self._streams:
                if isinstance(stream, SoundDeviceLoudspeaker):
                    await stream.rest()

    async def _recover(self, lost: Sequence[Stream]) -> None:
        if lost:
            gone = " and ".join(f'the {stream.kind} "{stream.name}"' for stream in lost)
            verb = "is" if len(lost) == 1 else "are"
            self._on_state(
                f"{gone[0].upper()}{gone[1:]} {verb} not responding; waiting for a response.",
                False,
            )
        tries = 0
        while self._streams:
            try:
                async with self._changing:
                    await self.calls.run(self._reopen, tuple(self._streams))
            except AudioError:
                await asyncio.sleep(RETRY_S[min(tries, len(RETRY_S) - 1)])
                tries += 1
                continue
            names = " and ".join(f'{stream.kind} "{stream.name}"' for stream in self._streams)
            self._on_state(f"Sound is back: {names}.", True)
            return

    def _reopen(self, streams: Sequence[Stream]) -> None:
        for stream in streams:
            stream.abort()
        reinitialise()
        for stream in streams:
            stream.start()
