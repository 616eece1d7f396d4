"""The pipeline's step after `barge_in`: lets skills carry out commands to the assistant itself. All
other speech is passed on to the language model."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from pipecat.frames.frames import Frame, StartFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import CommandHeard, Event, Remarked
from assistant.intents import Command, CommandKind, Intent, IntentRecogniser, not_known
from assistant.skills import Remark, Reply, Skill, SkillRegistry
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.dialogue_skill import DialogueSkill
from assistant.voice.frames import AnswerRequestFrame, PartialFrame, StopSpeakingFrame
from assistant.voice.ringing import Ringing
from assistant.voice.speculation import SpeculativeAnswer

UNREPEATED = frozenset({CommandKind.REPEAT, CommandKind.WAKE})
"""Commands whose reply ("Yes?") is skipped by "say that again"."""
TELLING = DialogueSkill.kinds | {CommandKind.KNOW, CommandKind.WHY, CommandKind.WHEN_TOLD}
"""Commands whose reply quotes nothing that is hidden."""
SILENCING = frozenset({CommandKind.STOP, CommandKind.SNOOZE})
"""Commands that a sleeping assistant obeys while something rings."""


class RouteIntents(FrameProcessor):
    """Carries out commands, and passes on other speech that is addressed to the assistant.

    First, the words are checked for an answer to a question that a skill has asked, then for a
    command. Everything else is an ordinary turn, which also drops the question.

    Args:
        recogniser: recognises commands to the assistant itself.
        skills: carry out commands other than those about the dialogue.
        ringing: ends when the user says anything that is a command or a turn.
        find_tool: returns the intent of an utterance that isn't a command, but may ask for a tool
            of another program. None if there are no such tools.
    """

    def __init__(
        self,
        dialogue: Dialogue,
        recogniser: IntentRecogniser,
        skills: Sequence[Skill],
        ringing: Ringing,
        find_tool: Callable[[str], Awaitable[Intent | None]] | None = None,
    ) -> None:
        super().__init__(name="command")
        self._find_tool = find_tool
        self._dialogue = dialogue
        self._recogniser = recogniser
        self._ringing = ringing
        self._controls = DialogueSkill(dialogue)
        self._skills = SkillRegistry([self._controls, *skills], dialogue.emit)
        self._waiting = TaskSet(dialogue.failed)
        self._tool_request: tuple[SpeculativeAnswer, asyncio.Task[None]] | None = None
        """The last request for a tool, and the task that carries it out. Choosing the tool and
        waiting for its answer takes seconds."""
        self._acting = asyncio.Lock()
        """Held while a command or an answer to a question is processed, so that "undo" never
        overtakes the command that it should undo."""

    async def cleanup(self) -> None:
        await super().cleanup()
        self._waiting.cancel()
        self._controls.close()
        self._recogniser.close()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):  # before the first turn needs it
            self._waiting.start(self._recogniser.load())
        if isinstance(frame, PartialFrame):  # the user is saying something else
            self._drop_tool_request()
        if isinstance(frame, StopSpeakingFrame):
            if self._drop_tool_request():
                self._dialogue.ignore("command")
        elif isinstance(frame, AnswerRequestFrame) and not frame.answer.remark:
            await self._sort(frame)
        else:
            await self.push_frame(frame, direction)

    async def _sort(self, frame: AnswerRequestFrame) -> None:
        answer, names = frame.answer, self._dialogue.attention.names
        text: str | None = answer.user_text
        if not answer.typed:
            text = self._dialogue.meant_for_me(answer.user_text)
        if text is None:
            await self._sort_unaddressed(frame)
            return
        self._drop_tool_request()
        act = self._skills.answer(text, names)
        intent = await self._intent(answer, text) if act is None else None
        stops = intent is not None and intent.command.kind is CommandKind.STOP
        if intent is not None and stops and (answer.interrupts or self._dialogue.ringing):
            intent = replace(intent, sure=True)  # speech has stopped already: ask nothing
        if act is None and (intent is None or _may_be_answer(intent)):
            if self._skills.takes_words(text):
                words = text
                self._later(answer, lambda: self._take(frame, words))
                return
            if intent is None:
                act = self._skills.answer(text, names, explained=True)
        if act is None and not (intent is not None and self._wakes_the_woken(intent, text)):
            act = await self._skills.takes(text, intent)
        if act is None and intent is None and self._find_tool is not None:
            intent = await self._find_tool(text)
        if act is not None:
            agreed, words = act, text
            self._later(answer, lambda: self._answer(agreed, words))
        elif intent is None or self._wakes_the_woken(intent, text):
            await self._pass(frame, text)
        else:
            meant = intent
            obeying = self._later(answer, lambda: self._obey(meant, frame, text))
            if meant.command.kind is CommandKind.ACT:
                self._tool_request = answer, obeying

    async def _sort_unaddressed(self, frame: AnswerRequestFrame) -> None:
        """Ignore words that are not addressed to the assistant, unless they are to stop a bell:
        nobody should have to wake a sleeping assistant first."""
        text, intent = frame.answer.user_text, None
        if self._dialogue.ringing:
            intent = await self._intent(frame.answer, text)
        if intent is not None and intent.command.kind in SILENCING:
            meant = replace(intent, sure=True)
            self._later(frame.answer, lambda: self._obey(meant, frame, text))
        else:
            self._later(frame.answer, self._ignore)

    async def _intent(self, answer: SpeculativeAnswer, text: str) -> Intent | None:
        """Return the command to the assistant itself that the words contain, if any. Store the
        classifier's result in `answer`."""
        if not text:  # the wake phrase by itself
            return Intent(Command(CommandKind.WAKE))
        undo = self._skills.misheard_undo(text)
        if undo is not None:
            return undo
        names = self._dialogue.attention.names
        found = await self._recogniser.recognise(text, names, self._skills.expected)
        answer.classified = found.classified
        return found.intent

    def _wakes_the_woken(self, intent: Intent, text: str) -> bool:
        return intent.command.kind is CommandKind.WAKE and bool(text) and not self._dialogue.asleep

    async def _pass(self, frame: AnswerRequestFrame, text: str) -> None:
        frame.answer.user_text = text
        frame.answer.ready = False  # it may have waited as a command
        tools = self._find_tool is not None
        frame.answer.not_known = not_known(text, frame.answer.classified, tools=tools)
        frame.answer.when_confirmed(self._skills.turn_began)
        frame.answer.when_confirmed(self._ringing.noticed)
        if self._dialogue.asleep:  # the text was addressed to the assistant, or typed
            frame.answer.when_confirmed(self._dialogue.wake)
        await self.push_frame(frame)

    def _later(
        self, answer: SpeculativeAnswer, act: Callable[[], Awaitable[None]]
    ) -> asyncio.Task[None]:
        """Call `act` when the answer is confirmed, i.e. when the turn is over. Before that, the
        user may go on, e.g. from "stop" to "stop by the shop"."""

        async def wait() -> None:
            if await answer.may_be_heard():
                await act()

        return self._waiting.start(wait())

    async def _ignore(self) -> None:
        self._dialogue.ignore("asleep" if self._dialogue.asleep else "not addressed")

    async def _answer(self, act: Callable[[], Awaitable[Reply]], text: str) -> None:
        """Do what the user's answer to a question asks for."""
        async with self._acting:
            await self._dialogue.settled()
            await self._say(await act(), text)

    async def _take(self, frame: AnswerRequestFrame, text: str) -> None:
        """Process the words that a question asked for. If they don't answer the question, pass them
        on as an ordinary turn."""
        async with self._acting:
            await self._dialogue.settled()
            reply = await self._skills.said(text)
            if reply is None:
                await self._pass(frame, text)
            else:
                await self._say(reply, text)

    def remark(self, remark: Remark) -> None:
        """Make a remark about an effect of the last turn, once the turn is answered and nobody
        speaks. The effect can be undone like that of a command."""

        async def say() -> None:
            await self._dialogue.quiet.wait()
            reply = await remark()
            if reply is not None and not self._dialogue.quiet.is_set():  # the user goes on
                await say()
            elif reply is not None:
                self._skills.note(reply)
                await self._remark(reply)

        self._waiting.start(say())

    async def _obey(self, intent: Intent, frame: AnswerRequestFrame, text: str) -> None:
        """Carry out a command, or ask whether the user means it. If the skill leaves the turn to
        the language model, the answer begins later than usual, because it could not be prepared
        during the pause."""
        names = self._dialogue.attention.names
        carry_out = partial(self._skills.carry_out, intent, text, names)
        hides = self._dialogue.last_said.hides
        if intent.command.kind in DialogueSkill.kinds:  # "stop" must not wait
            reply = await carry_out()
        else:
            async with self._acting:
                await self._dialogue.settled()
                reply = await carry_out()
        if intent.command.kind is CommandKind.ACT:
            self._tool_request = None
        if reply is None:
            await self._pass(frame, text)
        else:
            if intent.command.kind in TELLING and not reply.asks:
                reply = replace(reply, lasts=hides == self._dialogue.last_said.hides)
            await self._say(reply, text or frame.answer.user_text, intent.command.kind)

    def _drop_tool_request(self) -> bool:
        """Cancel the request for a tool that is in progress. Return whether there was one."""
        if self._tool_request is None or not self._tool_request[0].confirmed:
            return False
        (_, obeying), self._tool_request = self._tool_request, None
        return obeying.cancel()

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._skills.watch(event)

    async def _say(self, reply: Reply, heard: str, command: str = "") -> None:
        """Show that the user's words were a command, and say the reply."""
        if command == CommandKind.STOP:
            self._ringing.silence()
        else:
            self._ringing.noticed()
        if reply.asks and self._dialogue.asleep:
            self._dialogue.wake()  # otherwise the user's answer would be ignored
        await self._dialogue.settled()  # an interrupted turn is shown as over first
        self._dialogue.emit(CommandHeard(heard))
        if reply.text:
            await self._remark(reply, command)
        self._dialogue.ignore("command")

    async def _remark(self, reply: Reply, command: str = "") -> None:
        if command not in UNREPEATED:
            self._dialogue.last_said.say(reply.text, lasts=reply.lasts)
        self._dialogue.emit(Remarked(reply.text, command))
        remark = SpeculativeAnswer("", remark=True, text=reply.text)
        remark.confirm()
        if (act := reply.when_heard) is not None:
            remark.when_heard = lambda: self._waiting.start(act())
        await self.push_frame(AnswerRequestFrame(remark))


def _may_be_answer(intent: Intent) -> bool:
    """Whether the words are only probably a command, and may instead be the words that a question
    asked for: "It's Tuesday."."""
    stating = (CommandKind.REMEMBER, CommandKind.CORRECT)
    return not intent.sure and intent.command.kind in stating
