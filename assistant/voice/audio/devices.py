"""Opens the sound devices, and reopens them after they are lost."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence

from assistant.errors import AudioError, DeviceMissing
from assistant.voice.audio.portaudio import PortAudioThread, reinitialise
from assistant.voice.audio.streams import SoundDeviceLoudspeaker, SoundDeviceMicrophone, Stream

OnState = Callable[[str, bool], None]
"""Called with a sentence for the user, and whether sound works now."""

WATCH_S = 0.5
SLEPT_S = 10.0
"""If the wall clock gains this many seconds on the monotonic one, the computer was asleep."""
RETRY_S = (0.3, 0.5, 1.0, 2.0)
CLOSE_S = 1.0
"""Seconds after which a driver that is still closing is abandoned."""
REST_AFTER_S = 10.0 if sys.platform == "linux" else None
"""Seconds after which an idle output stream is stopped; None keeps it running. It costs about 1 %
of a core. Stopping pays off where restarting is immediate (1 ms on Linux), not where it delays the
first word (Bluetooth on macOS), and not within a conversation, since every start shifts the echo's
delay by some milliseconds."""


class SoundDevices:
    """Owns the streams and watches over them.

    Unplugging, a new default device and the computer's sleep have one symptom: callbacks stop. Then
    all streams are closed, PortAudio is restarted (it looks for devices only at start), and the
    streams are opened on the devices found, again and again until that succeeds.

    Args:
        on_state: called when sound is lost and when it is back; on the event loop.
        rest_after_s: seconds after which an idle output stream is stopped; None never does.
    """

    def __init__(
        self, on_state: OnState | None = None, *, rest_after_s: float | None = REST_AFTER_S
    ) -> None:
        self.calls = PortAudioThread()
        self.rest_after_s = rest_after_s
        self._on_state = on_state
        self._streams: list[SoundDeviceMicrophone | SoundDeviceLoudspeaker] = []
        self._changing = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    def microphone(self, wanted: str | None = None) -> SoundDeviceMicrophone:
        """A microphone by number or part of its name; None follows the system's default."""
        return SoundDeviceMicrophone(self, wanted)

    def loudspeaker(self, wanted: str | None = None) -> SoundDeviceLoudspeaker:
        """A loudspeaker by number or part of its name; None follows the system's default."""
        return SoundDeviceLoudspeaker(self, wanted)

    def holds(self, stream: Stream) -> bool:
        return stream in self._streams

    async def attach(self, stream: SoundDeviceMicrophone | SoundDeviceLoudspeaker) -> None:
        """Open `stream` and start watching it."""
        async with self._changing:
            if stream in self._streams:
                return
            await self.calls.run(self._start, stream)
            self._streams.append(stream)
            if self._watch is None:
                self._watch = asyncio.create_task(self._run_watch())

    async def detach(self, stream: SoundDeviceMicrophone | SoundDeviceLoudspeaker) -> None:
        """Close `stream`; the watch ends with the last one."""
        if stream in self._streams:
            self._streams.remove(stream)
        if not self._streams and self._watch is not None:
            self._watch.cancel()
            self._watch = None
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.calls.run(stream.abort)
        except TimeoutError:
            self._tell(f'The {stream.kind} "{stream.name}" is not closing.', ok=False)

    def _start(self, stream: Stream) -> None:
        try:
            stream.start()
        except DeviceMissing:
            if self._streams:
                raise
            reinitialise()  # it may have been plugged in since PortAudio looked
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
            verb = "does" if len(lost) == 1 else "do"
            self._tell(
                f"{gone[0].upper()}{gone[1:]} {verb} not answer; waiting for it to come back.",
                ok=False,
            )
        attempt = 0
        while self._streams:
            try:
                async with self._changing:
                    await self.calls.run(self._reopen, tuple(self._streams))
            except AudioError:
                await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
                attempt += 1
                continue
            names = " and ".join(f'{stream.kind} "{stream.name}"' for stream in self._streams)
            self._tell(f"Sound is back: {names}.", ok=True)
            return

    def _reopen(self, streams: Sequence[Stream]) -> None:
        for stream in streams:
            stream.abort()
        reinitialise()
        for stream in streams:
            stream.start()

    def _tell(self, sentence: str, *, ok: bool) -> None:
        if self._on_state is not None:
            self._on_state(sentence, ok)
