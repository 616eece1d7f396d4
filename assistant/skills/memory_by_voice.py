"""Carries out spoken commands about memories, such as "forget that". A command that concerns more
than one thing must be confirmed first."""

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
"""Seconds after which a request for confirmation lapses."""
TURNS = 50
"""Number of turns whose recalled memories are stored, to find out what an answer was based on."""


class MemoryCommands:
    """Carries out one user's spoken commands. Use it only on the event loop.

    Args:
        conversation: returns the running conversation.
        forget_questions: clears the caches about earlier questions.
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
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            self._used.append((event.turn, event.memories))
            self._asked = None
            self._just_forgotten = False
        elif isinstance(event, ForgettingDone | RecordChanged):
            self._used.clear()
            self._forget_questions()

    @property
    def waits_for_yes(self) -> bool:
        """Whether a command waits for the user's confirmation."""
        return self._asked is not None and time.monotonic() - self._asked_at < ANSWER_S

    @property
    def may_be_undone(self) -> bool:
        """Whether something was forgotten that can be restored, and no turn has ended since."""
        return self._just_forgotten

    async def answered(self, *, yes: bool) -> str:
        """Carry out the command that waits for confirmation if `yes`, else drop it. Return the
        reply to say."""
        plan, self._asked = self._asked, None
        if plan is None or not yes:
            return spoken_replies.KEPT
        return await self._forget(plan)

    async def carry_out(self, command: Command) -> str | None:
        """Carry out a command, or ask for confirmation. Return the reply to say, or None if the
        language model should answer."""
        self._asked = None
        try:
            if command.kind is CommandKind.KNOW:
                return await asyncio.to_thread(self._known, command.words)
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
        """Return a reply that tells what is known about a topic, or the newest memories if the
        topic is None. Return None if nothing is known, so that the language model answers. Blocks.
        """
        if topic is None:
            return spoken_replies.known(None, self._resolver.newest(), english=self._english)
        try:
            facts = self._resolver.about(topic)
        except StoreError:
            return None
        return spoken_replies.known(topic, facts, english=self._english) if facts else None


def request_of(command: Command) -> ForgetRequest:
    """Convert a command such as "forget that" to a request."""
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
            return ForgetRequest(about=command.words or "")
    return ForgetRequest(minutes=command.minutes or 0)
