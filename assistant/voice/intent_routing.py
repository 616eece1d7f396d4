"""barge in → *spoken command?*: commands are carried out at once and never reach the model."""

import asyncio
from collections.abc import Awaitable, Callable

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
from assistant.skills import MemoryCommands
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerRequestFrame
from assistant.voice.speculation import SpeculativeAnswer

OFF = "Off the record. I won't keep anything until you say: back on the record."
ON = "Back on the record. I haven't kept anything that was said in between."
ALREADY_ON = "We're already on the record."
NOTHING_SAID = "I haven't said anything yet."
NOTHING_KEPT = "I'm not keeping anything in this session, so there is nothing to forget."


class RouteIntents(FrameProcessor):
    """Carries out commands, and passes on only speech that was addressed to the assistant.

    Args:
        memory_commands: carries out commands about stored memories; None if nothing is stored.
    """

    def __init__(self, dialogue: Dialogue, memory_commands: MemoryCommands | None) -> None:
        super().__init__(name="command")
        self._dialogue = dialogue
        self._memory_commands = memory_commands
        self._waiting = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._waiting.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):  # so that the first turn needn't load English
            self._waiting.start(self._learn())
        if isinstance(frame, AnswerRequestFrame) and not frame.answer.remark:
            await self._sort(frame)
        else:
            await self.push_frame(frame, direction)

    async def _learn(self) -> None:
        await asyncio.to_thread(language, ENGLISH)

    async def _sort(self, frame: AnswerRequestFrame) -> None:
        answer, names = frame.answer, self._dialogue.attention.names
        text: str | None = answer.user_text
        if not answer.typed:
            text = self._dialogue.meant_for_me(answer.user_text)
        if text is None:
            self._later(answer, self._ignore)
            return
        memory = self._memory_commands
        if memory is not None and memory.waits_for_yes:
            yes = yes_or_no(text, names)
            if yes is not None:
                self._later(answer, lambda: self._agree(memory, yes=yes))
                return
        # The wake phrase by itself leaves an empty text.
        command = recognise(text, names) if text else Command(CommandKind.WAKE)
        if command is None and memory is not None and memory.may_be_undone:
            command = Command(CommandKind.UNDO) if sounds_like_undo(text) else None
        if command is None or (
            command.kind is CommandKind.WAKE and text and not self._dialogue.asleep
        ):
            await self._pass(frame, text)
        else:
            self._later(answer, lambda: self._obey(command, frame, text))

    async def _pass(self, frame: AnswerRequestFrame, text: str) -> None:
        frame.answer.user_text = text
        if self._dialogue.asleep:  # the text was addressed to the assistant, or typed
            frame.answer.when_confirmed(self._dialogue.wake)
        await self.push_frame(frame)

    def _later(self, answer: SpeculativeAnswer, act: Callable[[], Awaitable[None]]) -> None:
        """Act only once the turn is over: "stop" may continue as "stop by the shop"."""

        async def wait() -> None:
            if await answer.may_be_heard():
                await act()

        self._waiting.start(wait())

    async def _ignore(self) -> None:
        self._dialogue.ignore("asleep" if self._dialogue.asleep else "not addressed")

    async def _agree(self, memory: MemoryCommands, *, yes: bool) -> None:
        await self._remark(await memory.answered(yes=yes))
        self._dialogue.ignore("command")

    async def _obey(self, command: Command, frame: AnswerRequestFrame, text: str) -> None:
        reply = await self._carry_out(command)
        if reply is None:
            await self._pass(frame, text)
            return
        if reply:
            await self._remark(reply)
        if command.kind is CommandKind.SLEEP:
            self._dialogue.sleep()
        self._dialogue.ignore("command")

    async def _carry_out(self, command: Command) -> str | None:
        """Carry out a command. Returns the reply to say, or None if the model is to answer."""
        match command.kind:
            case CommandKind.STOP:
                return ""
            case CommandKind.SLEEP:
                return f"Good night. Say {self._dialogue.attention.wake_phrase} to wake me."
            case CommandKind.WAKE:
                self._dialogue.wake()
                return "Yes?"
            case CommandKind.REPEAT:
                return self._dialogue.last_answer or NOTHING_SAID
            case CommandKind.OFF_RECORD | CommandKind.ON_RECORD:
                return await self._record(off=command.kind is CommandKind.OFF_RECORD)
        if self._memory_commands is None:
            return None if command.kind is CommandKind.KNOW else NOTHING_KEPT
        await self._dialogue.settled()
        return await self._memory_commands.carry_out(command)

    async def _record(self, *, off: bool) -> str:
        await self._dialogue.settled()  # first store the previous turn in its own mode
        was_off = self._dialogue.off_record
        self._dialogue.record(off=off)
        return OFF if off else ON if was_off else ALREADY_ON

    async def _remark(self, text: str) -> None:
        self._dialogue.emit(Remarked(text))
        remark = SpeculativeAnswer("", remark=True, text=text)
        remark.confirm()
        await self.push_frame(AnswerRequestFrame(remark))
