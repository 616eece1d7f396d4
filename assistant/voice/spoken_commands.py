"""barge in → *spoken command?*: what is obeyed at once and never reaches the model."""

import asyncio
from collections.abc import Awaitable, Callable

from pipecat.frames.frames import Frame, StartFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import Remarked
from assistant.voice.attempt import Attempt
from assistant.voice.background import Background
from assistant.voice.commands import ENGLISH, Kind, recognise
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AttemptFrame
from assistant.voice.grammar import language

OBEYED = frozenset({Kind.STOP, Kind.SLEEP, Kind.WAKE})
"""What is done here; the others are answered like anything that is said."""


class SpokenCommands(FrameProcessor):
    """Obeys commands, and lets nothing pass that was not meant for the assistant."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__(name="command")
        self._dialogue = dialogue
        self._waiting = Background(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._waiting.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):  # or the first turn would wait for it
            self._waiting.start(self._learn())
        if isinstance(frame, AttemptFrame):
            await self._sort(frame)
        else:
            await self.push_frame(frame, direction)

    async def _learn(self) -> None:
        await asyncio.to_thread(language, ENGLISH)

    async def _sort(self, frame: AttemptFrame) -> None:
        attempt = frame.attempt
        text = attempt.text if attempt.typed else self._dialogue.meant_for_me(attempt.text)
        if text is None:
            self._later(attempt, self._ignore)
            return
        kind = self._obeyed(text)
        if kind is None or (kind is Kind.WAKE and text and not self._dialogue.asleep):
            attempt.text = text
            if self._dialogue.asleep:  # let through since it was addressed, or typed
                attempt.when_confirmed(self._dialogue.wake)
            await self.push_frame(frame)
        else:
            self._later(attempt, lambda _: self._obey(kind))

    def _obeyed(self, text: str) -> Kind | None:
        """What is commanded; the wake phrase alone, of which nothing is left, wakes."""
        if not text:
            return Kind.WAKE
        command = recognise(text, self._dialogue.attention.names)
        return command.kind if command is not None and command.kind in OBEYED else None

    def _later(self, attempt: Attempt, act: Callable[[Attempt], Awaitable[None]]) -> None:
        """A command holds only once the turn is over: "stop" may go on as "stop by the shop"."""

        async def wait() -> None:
            if await attempt.may_be_heard():
                await act(attempt)

        self._waiting.start(wait())

    async def _ignore(self, _: Attempt) -> None:
        self._dialogue.ignore("asleep" if self._dialogue.asleep else "not addressed")

    async def _obey(self, kind: Kind) -> None:
        if kind is Kind.SLEEP:
            wake_phrase = self._dialogue.attention.wake_phrase
            await self._remark(f"Good night. Say {wake_phrase} to wake me.")
            self._dialogue.sleep()
        elif kind is Kind.WAKE:
            self._dialogue.wake()
            await self._remark("Yes?")
        self._dialogue.ignore("command")

    async def _remark(self, text: str) -> None:
        self._dialogue.emit(Remarked(text))
        await self.push_frame(AttemptFrame(Attempt.of_remark(text)))
