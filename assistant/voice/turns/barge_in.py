"""hear → *barge in*: decides whether a sound should stop the assistant's voice.

The voice is lowered the moment someone seems to speak, and stopped once there are words. A cough,
a "mm-hmm" or the assistant's own echo only lowers it, for half a second at most.
"""

import asyncio

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.voice.attempt import Attempt
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import (
    AttemptFrame,
    CutOffFrame,
    PartialFrame,
    SpeechDiscardedFrame,
    SpeechStartedFrame,
    StopSpeakingFrame,
)
from assistant.voice.turns.interruptions import is_backchannel, is_echo

DUCKING_S = 0.5


class BargeIn(FrameProcessor):
    """Lowers or stops the voice, depending on what is said while it speaks."""

    def __init__(self, dialogue: Dialogue, *, duck: float, echoes: bool) -> None:
        super().__init__(name="barge-in")
        self._dialogue = dialogue
        self._duck = duck
        self._echoes = echoes
        """Whether the microphone may hear the loudspeaker."""
        self._restoring: asyncio.TimerHandle | None = None
        self._spoken_into: Attempt | None = None
        """The answer being played when the current utterance began, which may be its echo."""
        self._considering = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._restore()
        self._considering.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, SpeechStartedFrame):
            self._spoken_into = self._dialogue.sounds_in_the_room() if self._echoes else None
            if self._dialogue.aloud:
                self._lower()
        elif isinstance(frame, PartialFrame):
            if self._reason(frame.text, frame.own_voice) is None:
                if self._dialogue.aloud:
                    await self._interrupt()
                await self.push_frame(frame, direction)
        elif isinstance(frame, SpeechDiscardedFrame):
            self._restore()
        elif isinstance(frame, StopSpeakingFrame):
            await self._interrupt()
        elif isinstance(frame, AttemptFrame):
            await self._attempt(frame)
        else:
            await self.push_frame(frame, direction)

    async def _attempt(self, frame: AttemptFrame) -> None:
        attempt = frame.attempt
        if attempt.withdrawn:
            return
        reason = None if attempt.typed else self._reason(attempt.text, attempt.own_voice)
        if reason == "echo" or (reason is not None and self._dialogue.aloud):
            self._considering.start(self._consider(frame, reason))
            return
        if self._dialogue.answering:
            await self._interrupt()
        attempt.passed = True
        await self.push_frame(frame)

    async def _consider(self, frame: AttemptFrame, reason: str) -> None:
        """A backchannel during the answer is ignored; the same word after it ends is a turn."""
        attempt = frame.attempt
        if not await attempt.may_be_heard():
            return
        if self._dialogue.aloud or reason == "echo":
            self._restore()
            self._dialogue.ignore(reason, attempt.text)
        else:
            attempt.passed = True
            await self.push_frame(frame)

    def _reason(self, text: str, own_voice: float) -> str | None:
        """Why these words don't stop the voice; None if they do."""
        if self._spoken_into is not None and is_echo(text, self._spoken_into.answer, own_voice):
            return "echo"
        if is_backchannel(text):
            return "backchannel"
        return None if self._dialogue.meant_for_me(text) is not None else "not addressed"

    async def _interrupt(self) -> None:
        self._restore()
        if self._dialogue.answering:
            attempt = self._dialogue.interrupting()
            self._dialogue.voice.hush()
            await self.push_frame(CutOffFrame(attempt=attempt))

    def _lower(self) -> None:
        self._dialogue.voice.set_gain(self._duck)
        if self._restoring is None:
            loop = asyncio.get_running_loop()
            self._restoring = loop.call_later(DUCKING_S, self._restore)

    def _restore(self) -> None:
        if self._restoring is not None:
            self._restoring.cancel()
            self._restoring = None
        self._dialogue.voice.set_gain(1.0)
