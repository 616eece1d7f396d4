"""The manager of the sound devices: opens them, and brings them back when they are lost."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence

from assistant.errors import AudioError, DeviceMissing
from assistant.voice.audio.portaudio import PortAudioThread, reinitialise
from assistant.voice.audio.streams import SoundDeviceLoudspeaker, SoundDeviceMicrophone, Stream

OnState = Callable[[str, bool], None]
"""Takes a sentence for the user, and whether sound works now."""

WATCH_S = 0.5
SLEPT_S = 10.0
"""The wall clock ran so much ahead of the monotonic one: the computer was asleep."""
RETRY_S = (0.3, 0.5, 1.0, 2.0)
CLOSE_S = 1.0
"""A driver that takes longer to close is left to itself."""
REST_AFTER_S = 10.0 if sys.platform == "linux" else None
"""An idle output stream costs about 1 % of a core. Stopping it is worth it where starting again is
immediate (1 ms on Linux), not where it delays the first word (Bluetooth on macOS); and not within
a conversation, since every start moves the echo by some milliseconds."""


class SoundDevices:
    """Owns the streams, and the watch over them.

    Unplugging, a changed default device and the computer's sleep show only in that callbacks stop.
    Then all streams are closed, PortAudio starts again (it looks for devices only then), and the
    streams are opened on what is there now, again and again until that succeeds.

    Args:
        on_state: told when sound is lost and when it is back; on the event loop.
        rest_after_s: stop an idle output stream after so long; None never does.
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
        """Open `stream` and watch over it."""
        async with self._changing:
            if stream in self._streams:
                return
            await self.calls.run(self._start, stream)
            self._streams.append(stream)
            if self._watch is None:
                self._watch = asyncio.create_task(self._run_watch())

    async def detach(self, stream: SoundDeviceMicrophone | SoundDeviceLoudspeaker) -> None:
        """Close `stream`; the last one ends the watch."""
        if stream in self._streams:
            self._streams.remove(stream)
        if not self._streams and self._watch is not None:
            self._watch.cancel()
            self._watch = None
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.calls.run(stream.abort)
        except TimeoutError:
            self._tell(f'The {stream.kind} "{stream.name}" does not close.', ok=False)

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
                f"{gone[0].upper()}{gone[1:]} {verb} not answer; waiting for sound.", ok=False
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
