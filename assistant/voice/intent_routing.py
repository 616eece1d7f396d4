"""barge in → *spoken command?*: commands are obeyed at once and never reach the model."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from pipecat.frames.frames import Frame, StartFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import Remarked
from assistant.intents import (
    ENGLISH,
    Command,
    CommandKind,
    language,
    recognise,
    sounds_like_undo,
    yes_or_no,
)
from assistant.voice.attempt import Attempt
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AttemptFrame

OFF = "Off the record. I won't keep anything until you say: back on the record."
ON = "Back on the record. I haven't kept anything of what was said in between."
ALREADY_ON = "We're already on the record."
NOTHING_SAID = "I have not said anything yet."
NOTHING_KEPT = "I'm not keeping anything in this session, so there is nothing to forget."

HANDLED_HERE = frozenset(
    {
        CommandKind.STOP,
        CommandKind.REPEAT,
        CommandKind.SLEEP,
        CommandKind.WAKE,
        CommandKind.OFF_RECORD,
        CommandKind.ON_RECORD,
    }
)
"""The commands carried out here; the others concern stored memories."""


class MemoryCommandHandler(Protocol):
    """Carries out the commands that concern stored memories."""

    @property
    def waits_for_yes(self) -> bool:
        """A question was asked recently and still awaits an answer."""

    @property
    def may_be_undone(self) -> bool:
        """Something was forgotten, and nothing has been said since."""

    async def answered(self, *, yes: bool) -> str:
        """The user answered the open question with yes or no. Returns what to say."""

    async def carry_out(self, command: Command) -> str | None:
        """Carry out `command`. Returns what to say, or None if the model is to answer."""


class RouteIntents(FrameProcessor):
    """Obeys commands, and passes on only what was addressed to the assistant.

    Args:
        keeping: None if nothing is stored.
    """

    def __init__(self, dialogue: Dialogue, keeping: MemoryCommandHandler | None = None) -> None:
        super().__init__(name="command")
        self._dialogue = dialogue
        self._keeping = keeping
        self._waiting = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._waiting.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):  # otherwise the first turn would wait for the loading
            self._waiting.start(self._learn())
        if isinstance(frame, AttemptFrame) and not frame.attempt.remark:
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
        names = self._dialogue.attention.names
        keeping = self._keeping
        if keeping is not None and keeping.waits_for_yes:
            yes = yes_or_no(text, names)
            if yes is not None:
                self._later(attempt, lambda _: self._agree(keeping, yes=yes))
                return
        # The wake phrase by itself leaves an empty text.
        command = recognise(text, names) if text else Command(CommandKind.WAKE)
        if command is None and keeping is not None and keeping.may_be_undone:
            command = Command(CommandKind.UNDO) if sounds_like_undo(text) else None
        if command is None or (
            command.kind is CommandKind.WAKE and text and not self._dialogue.asleep
        ):
            await self._pass(frame, text)
        elif command.kind in HANDLED_HERE:
            self._later(attempt, lambda _: self._obey(command.kind))
        else:
            self._later(attempt, lambda _: self._carry_out(command, frame, text))

    async def _pass(self, frame: AttemptFrame, text: str) -> None:
        frame.attempt.text = text
        if self._dialogue.asleep:  # it got this far because it was addressed, or typed
            frame.attempt.when_confirmed(self._dialogue.wake)
        await self.push_frame(frame)

    def _later(self, attempt: Attempt, act: Callable[[Attempt], Awaitable[None]]) -> None:
        """Act only once the turn is over: "stop" may go on as "stop by the shop"."""

        async def wait() -> None:
            if await attempt.may_be_heard():
                await act(attempt)

        self._waiting.start(wait())

    async def _ignore(self, _: Attempt) -> None:
        self._dialogue.ignore("asleep" if self._dialogue.asleep else "not addressed")

    async def _obey(self, kind: CommandKind) -> None:
        if kind is CommandKind.SLEEP:
            wake_phrase = self._dialogue.attention.wake_phrase
            await self._remark(f"Good night. Say {wake_phrase} to wake me.")
            self._dialogue.sleep()
        elif kind is CommandKind.WAKE:
            self._dialogue.wake()
            await self._remark("Yes?")
        elif kind is CommandKind.REPEAT:
            await self._remark(self._dialogue.last_answer or NOTHING_SAID)
        elif kind is CommandKind.OFF_RECORD:
            await self._dialogue.settled()  # the previous turn was still on the record
            self._dialogue.record(off=True)
            await self._remark(OFF)
        elif kind is CommandKind.ON_RECORD:
            await self._dialogue.settled()
            was_off = self._dialogue.off_record
            self._dialogue.record(off=False)
            await self._remark(ON if was_off else ALREADY_ON)
        self._dialogue.ignore("command")

    async def _carry_out(self, command: Command, frame: AttemptFrame, text: str) -> None:
        if self._keeping is None:
            said: str | None = None if command.kind is CommandKind.KNOW else NOTHING_KEPT
        else:
            await self._dialogue.settled()
            said = await self._keeping.carry_out(command)
        if said is None:
            await self._pass(frame, text)
            return
        await self._remark(said)
        self._dialogue.ignore("command")

    async def _agree(self, keeping: MemoryCommandHandler, *, yes: bool) -> None:
        await self._remark(await keeping.answered(yes=yes))
        self._dialogue.ignore("command")

    async def _remark(self, text: str) -> None:
        self._dialogue.emit(Remarked(text))
        await self.push_frame(AttemptFrame(Attempt.of_remark(text)))
