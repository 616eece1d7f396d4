"""The ends of the pipeline: the processors for the microphone, its echo, and the loudspeaker."""

import asyncio
import re
from collections import deque

from pipecat.frames.frames import CancelFrame, EndFrame, Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.voice.audio.chimes import chime_sound, ring_sound
from assistant.voice.audio.echo import EchoCanceller
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE, Loudspeaker, Microphone
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import (
    AnswerEndFrame,
    ClauseAudioFrame,
    MicrophoneFrame,
    TimedWord,
)
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.voice_control import VoiceControl
from models.interfaces import Samples

PLAY_BLOCK_S = BLOCK / MIC_RATE

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_STRAY = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)


class MicrophoneInput(FrameProcessor):
    """Turns the microphone's blocks into frames, in order and in real time."""

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
        """Start capturing. This is not part of the pipeline's start, so that errors reach the
        caller.

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
    """Removes the assistant's own voice from the microphone's frames."""

    def __init__(self, canceller: EchoCanceller) -> None:
        # Called directly by `MicrophoneInput`: queueing a frame would cost more than its processing
        super().__init__(name="echo", enable_direct_mode=True)
        self._canceller = canceller

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, MicrophoneFrame):
            frame.audio = self._canceller.near(frame.samples).tobytes()
            frame.played = self._canceller.played
        await self.push_frame(frame, direction)


class LoudspeakerOutput(FrameProcessor):
    """Plays the clauses of confirmed answers, and tracks which words have been heard."""

    def __init__(
        self,
        loudspeaker: Loudspeaker,
        dialogue: Dialogue,
        sample_rate: int,
        control: VoiceControl,
    ) -> None:
        super().__init__(name="loudspeaker")
        self._control = control
        self._loudspeaker = loudspeaker
        self._dialogue = dialogue
        dialogue.voice = self
        self._sample_rate = sample_rate
        self._chime = chime_sound(sample_rate)
        self._ring = ring_sound(sample_rate)
        self._chiming: asyncio.Task[None] | None = None
        self._answer: SpeculativeAnswer | None = None
        self._accepted = 0
        """Number of samples given to the loudspeaker since it was opened, minus those dropped."""
        self._due: deque[TimedWord] = deque()
        """The answer's words that have not been heard yet. Their `end_sample` counts from the
        opening of the loudspeaker."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, ClauseAudioFrame):
            await self._clause(frame)
        elif isinstance(frame, AnswerEndFrame):
            await self._end(frame.answer)
        else:
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

    def set_gain(self, gain: float) -> None:
        self._loudspeaker.gain = gain

    def chime(self) -> None:
        self._chiming = asyncio.create_task(self._play(self._chime))

    async def _play(self, samples: Samples) -> None:
        self._accepted += len(samples)
        await self._loudspeaker.play(self._control.applied(samples))

    async def _may_play(self, answer: SpeculativeAnswer) -> bool:
        return await answer.may_be_heard() and not answer.closed

    async def _clause(self, frame: ClauseAudioFrame) -> None:
        answer = frame.answer
        if not await self._may_play(answer):
            return
        rings = answer.rings and answer is not self._answer
        if answer is not self._answer:
            self._answer = answer
            self._due.clear()
        if self._chiming is not None:
            await asyncio.wait({self._chiming})
            self._chiming = None
        if rings and not await self._sound(answer, self._ring):
            return
        start = self._accepted
        self._due.extend(
            TimedWord(start + word.end_sample, word.source_end) for word in frame.words
        )
        if await self._sound(answer, frame.samples):
            self._note_heard()

    async def _sound(self, answer: SpeculativeAnswer, samples: Samples) -> bool:
        """Play samples of an answer. Return False if the answer is cut off before the end."""
        if len(samples):
            self._dialogue.sounding(answer)
        step = int(self._sample_rate * PLAY_BLOCK_S)
        for offset in range(0, len(samples), step):
            if not await self._may_play(answer):
                return False
            await self._play(samples[offset : offset + step])
            self._note_heard()
        return True

    async def _end(self, answer: SpeculativeAnswer) -> None:
        if not await self._may_play(answer):
            return
        await self._loudspeaker.drain()
        if answer.closed:
            return
        self._due.clear()
        answer.note_heard(heard_text(answer.text))
        self._answer = None
        self._dialogue.spoken(answer)

    def hush(self) -> None:
        if self._answer is not None:
            self._note_heard()
            self._answer.close()
            self._answer = None
        self._accepted -= self._loudspeaker.flush()
        self._due.clear()

    def _note_heard(self) -> None:
        answer, source_end = self._answer, None
        lag = int(self._loudspeaker.latency_s * self._sample_rate)
        position = self._loudspeaker.played() - lag
        while self._due and self._due[0].end_sample <= position:
            source_end = self._due.popleft().source_end
        if answer is None or source_end is None:
            return
        heard = heard_text(answer.text, source_end)
        if heard != answer.heard:
            answer.note_heard(heard)
            self._dialogue.heard(answer)


def heard_text(answer: str, source_end: int | None = None) -> str:
    """Return the answer up to `source_end`, without the model's thoughts. By default, return all of
    it. After an interruption, the conversation contains only the text returned here."""
    return _STRAY.sub("", _THOUGHT.sub("", answer[:source_end])).strip()
