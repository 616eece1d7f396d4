"""The two ends of the pipeline: *microphone* and *loudspeaker*."""

import asyncio
from collections import deque
from dataclasses import dataclass

from pipecat.frames.frames import CancelFrame, EndFrame, Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.voice.attempt import Attempt
from assistant.voice.audio.chime import chime
from assistant.voice.audio.echo import EchoCanceller
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE, Loudspeaker, Microphone
from assistant.voice.dialogue import Dialogue, LoudspeakerControl
from assistant.voice.frames import AnswerEndFrame, ClauseAudioFrame, CutOffFrame, MicrophoneFrame
from assistant.voice.speech.clauses import heard_text
from models.interfaces import Samples

PLAY_BLOCK_S = BLOCK / MIC_RATE


class MicrophoneInput(FrameProcessor):
    """*microphone*: turns what the device captures into frames, in order and in real time."""

    def __init__(self, microphone: Microphone | None) -> None:
        super().__init__(name="microphone")
        self._microphone = microphone
        self._captured: asyncio.Queue[tuple[Samples, float]] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, EndFrame | CancelFrame):
            await self._close()

    async def open(self) -> None:
        """Start capturing. Separate from the pipeline's start, so that a missing device raises.

        Raises:
            AudioError: the device is missing or in use.
        """
        if self._microphone is not None:
            self._pump = asyncio.create_task(self._run())
            await self._microphone.open(self._deliver)

    async def cleanup(self) -> None:
        await super().cleanup()
        await self._close()

    def _deliver(self, block: Samples, captured: float) -> None:
        self._captured.put_nowait((block, captured))

    async def _run(self) -> None:
        while True:
            block, captured = await self._captured.get()
            await self.push_frame(
                MicrophoneFrame(
                    audio=block.tobytes(), sample_rate=MIC_RATE, num_channels=1, captured=captured
                )
            )

    async def _close(self) -> None:
        pump, self._pump = self._pump, None
        if pump is not None:
            pump.cancel()
            if self._microphone is not None:
                await self._microphone.close()


class Echo(FrameProcessor):
    """*echo*: removes the assistant's own voice from the microphone's signal."""

    def __init__(self, canceller: EchoCanceller) -> None:
        # Called by the microphone's own task: a queue per frame would cost more than the work.
        super().__init__(name="echo", enable_direct_mode=True)
        self._canceller = canceller

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, MicrophoneFrame):
            frame.audio = self._canceller.near(frame.samples).tobytes()
            frame.played = self._canceller.played
        await self.push_frame(frame, direction)


@dataclass(frozen=True, slots=True)
class _Due:
    """A word of the answer, and the playback position at which it has been heard."""

    source_end: int
    position: int


class LoudspeakerOutput(FrameProcessor):
    """*loudspeaker*: plays confirmed clauses, and knows to the word what has been heard."""

    def __init__(self, loudspeaker: Loudspeaker, dialogue: Dialogue, sample_rate: int) -> None:
        super().__init__(name="loudspeaker")
        self._sample_rate = sample_rate
        self._chime = chime(sample_rate)
        self._chiming: asyncio.Task[None] | None = None
        self._hushed: Attempt | None = None
        dialogue.voice = LoudspeakerControl(self._set_gain, self._start_chime, self._hush)
        self._loudspeaker = loudspeaker
        self._dialogue = dialogue
        self._accepted = 0
        self._due: deque[_Due] = deque()
        self._attempt: Attempt | None = None
        self._heard_to = 0

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, ClauseAudioFrame):
            await self._clause(frame)
            return
        if isinstance(frame, AnswerEndFrame):
            await self._end(frame.attempt)
            return
        if isinstance(frame, CutOffFrame):
            self._hush()
            self._attempt = None
            self._dialogue.cut_off(frame.attempt)
        await self.push_frame(frame, direction)

    async def open(self) -> None:
        """Open the device.

        Raises:
            AudioError: the device is missing or in use.
        """
        await self._loudspeaker.open(self._sample_rate)

    async def cleanup(self) -> None:
        await super().cleanup()
        await self._loudspeaker.close()

    def _set_gain(self, gain: float) -> None:
        self._loudspeaker.gain = gain

    def _start_chime(self) -> None:
        self._chiming = asyncio.create_task(self._play(self._chime))

    async def _play(self, samples: Samples) -> None:
        self._accepted += len(samples)
        await self._loudspeaker.play(samples)

    async def _clause(self, frame: ClauseAudioFrame) -> None:
        attempt = frame.attempt
        if not await attempt.may_be_heard() or attempt.closed or attempt is self._hushed:
            return
        if attempt is not self._attempt:
            self._attempt, self._heard_to = attempt, 0
            self._due.clear()
        if self._chiming is not None:
            await asyncio.wait({self._chiming})
            self._chiming = None
        start = self._accepted
        self._due.extend(
            _Due(timed.word.source_end, start + timed.end_sample) for timed in frame.words
        )
        step = int(self._sample_rate * PLAY_BLOCK_S)
        if len(frame.samples):
            self._dialogue.sounding(attempt)
        for offset in range(0, len(frame.samples), step):
            if attempt.closed or attempt is self._hushed:
                return
            await self._play(frame.samples[offset : offset + step])
            self._note_heard()
        self._note_heard()

    async def _end(self, attempt: Attempt) -> None:
        if not await attempt.may_be_heard() or attempt.closed or attempt is self._hushed:
            return
        await self._loudspeaker.drain()
        self._due.clear()
        attempt.heard = heard_text(attempt.answer)
        self._attempt = None
        self._dialogue.spoken(attempt)

    def _hush(self) -> None:
        """Go silent at once; what was still queued has not been heard."""
        attempt = self._attempt
        if attempt is not None:
            self._note_heard()
            self._hushed = attempt
        self._accepted -= self._loudspeaker.flush()
        self._due.clear()

    def _note_heard(self) -> None:
        attempt = self._attempt
        if attempt is None:
            return
        lag = int(self._loudspeaker.latency_s * self._sample_rate)
        position = self._loudspeaker.played() - lag
        before = self._heard_to
        while self._due and self._due[0].position <= position:
            self._heard_to = self._due.popleft().source_end
        if self._heard_to != before:
            attempt.heard = heard_text(attempt.answer, self._heard_to)
            self._dialogue.heard(attempt)
