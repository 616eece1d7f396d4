"""Spoken commands about memories. Resolves what a command means, asks for confirmation if it
concerns more than one thing, carries it out, and reports the result."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from assistant.context import Conversation
from assistant.errors import SettingsError, StoreError
from assistant.events import Event, ForgettingDone, MemoryUsed, RecordChanged, TurnEnded
from assistant.intents import Command, CommandKind
from assistant.memory import (
    AnsweredTurn,
    ForgetPlan,
    ForgetRequest,
    ForgettingExecutor,
    NothingMeant,
    Resolver,
    spoken_replies,
)

ANSWER_S = 30.0
"""Seconds that a request for confirmation waits for a yes."""
TURNS = 50
"""Number of turns whose recalled memories are stored, to find out what an answer was based on."""


class MemoryCommands:
    """One user's spoken commands. Belongs to the event loop.

    Args:
        conversation: returns the running conversation.
        forget_questions: drops everything cached about questions.
        english: whether the language is English, so that replies may rephrase what was said.
    """

    def __init__(
        self,
        executor: ForgettingExecutor,
        resolver: Resolver,
        conversation: Callable[[], Conversation],
        forget_questions: Callable[[], object] = lambda: None,
        *,
        english: bool = True,
    ) -> None:
        self.forgetting = executor
        self._resolver = resolver
        self._conversation = conversation
        self._forget_questions = forget_questions
        self._english = english
        self._used: deque[tuple[int, tuple[MemoryUsed, ...]]] = deque(maxlen=TURNS)
        self._asked: ForgetPlan | None = None
        self._asked_at = float("-inf")
        self._just_forgotten = False

    def watch(self, event: Event) -> None:
        """Receives every event on the event bus."""
        if isinstance(event, TurnEnded):
            self._used.append((event.turn, event.memories))
            self._asked = None
            self._just_forgotten = False
        elif isinstance(event, ForgettingDone | RecordChanged):
            self._used.clear()
            self._forget_questions()

    @property
    def waits_for_yes(self) -> bool:
        """Whether a request for confirmation was made recently."""
        return self._asked is not None and time.monotonic() - self._asked_at < ANSWER_S

    @property
    def may_be_undone(self) -> bool:
        """Whether something was forgotten, and nothing has been said since."""
        return self._just_forgotten

    async def answered(self, *, yes: bool) -> str:
        """Carry out the confirmed command, unless the user said no; returns what to say."""
        plan, self._asked = self._asked, None
        if plan is None or not yes:
            return spoken_replies.KEPT
        return await self._forget(plan)

    async def carry_out(self, command: Command) -> str | None:
        """Carry out a command; returns what to say, or None if the model should answer."""
        self._asked = None
        try:
            if command.kind is CommandKind.KNOW:
                return await asyncio.to_thread(self._known, command.about)
            if command.kind is CommandKind.UNDO:
                self._just_forgotten = False
                undone = await self.forgetting.undo()
                return spoken_replies.brought_back(undone, english=self._english)
            plan = await self._resolved(command)
        except NothingMeant as error:
            return str(error)
        except SettingsError:
            return spoken_replies.UNCLEAR
        except StoreError as error:
            return f"{error} {error.mend or ''}".strip()
        if plan.needs_confirmation:
            self._asked, self._asked_at = plan, time.monotonic()
            return spoken_replies.question(plan, english=self._english)
        return await self._forget(plan)

    async def _forget(self, plan: ForgetPlan) -> str:
        try:
            await self.forgetting.hide(plan.exchanges, plan.memories)
        except StoreError as error:
            return f"{spoken_replies.NOT_NOTED}{error}"
        undoable = self._just_forgotten = self.forgetting.gives_time
        return spoken_replies.forgotten(plan, undoable=undoable, english=self._english)

    async def _resolved(self, command: Command) -> ForgetPlan:
        # Resolving takes longer than the voice may wait, so it runs in a thread, on a copy of data
        # that the loop may change.
        used = dict(self._used)
        exchanges = self._conversation().exchanges
        live = [AnsweredTurn(each, used.get(each.turn, ())) for each in exchanges]
        return await asyncio.to_thread(self._resolver.resolve, request_of(command), live)

    def _known(self, topic: str | None) -> str | None:
        """The reply about a topic; None if nothing is known (yet), so that the model answers.
        Blocking."""
        if topic is None:
            return spoken_replies.known(None, self._resolver.newest(), english=self._english)
        try:
            facts = self._resolver.about(topic)
        except StoreError:
            return None
        return spoken_replies.known(topic, facts, english=self._english) if facts else None


def request_of(command: Command) -> ForgetRequest:
    """The request that a command to forget makes."""
    match command.kind:
        case CommandKind.FORGET_THAT:
            return ForgetRequest(that=True)
        case CommandKind.FORGET_CONVERSATION:
            return ForgetRequest(conversation=True)
        case CommandKind.FORGET_TODAY:
            return ForgetRequest(today=True)
        case CommandKind.FORGET_ALL:
            return ForgetRequest(everything=True)
        case CommandKind.FORGET_ABOUT:
            return ForgetRequest(about=command.about or "")
    return ForgetRequest(minutes=command.minutes or 0)
