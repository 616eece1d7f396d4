"""The skill for forms and tasks, which the user and the assistant work on over several turns."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from assistant.context import Conversation
from assistant.errors import StoreError
from assistant.events import Event, TurnEnded, UserSensed
from assistant.intents import ABOUT_OPEN, Command, CommandKind
from assistant.skills.activities.activity import Activity
from assistant.skills.skill import Act, Remark, Reply

logger = logging.getLogger(__name__)

CATCH_UP_S = 3.0
"""Maximum number of seconds that a command waits while the open form or task takes in what was said
before (`Activity.hear`)."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Activities:
    """Opens forms and tasks, and passes what is said on to the one that was opened last. Use this
    class only on the event loop.

    Args:
        conversation: returns the session's conversation.
        quiet: waits until no turn is being answered, nobody speaks, and no sound is heard that
            could be a voice.
        remark: makes a remark once it is quiet.
    """

    def __init__(
        self,
        activities: Sequence[Activity],
        conversation: Callable[[], Conversation],
        quiet: Callable[[], Awaitable[object]],
        remark: Callable[[Remark], object],
    ) -> None:
        self._remark = remark
        self._activities = activities
        self._conversation = conversation
        self._quiet = quiet
        self._waiting: deque[tuple[str, Activity]] = deque()
        """Ids of exchanges, oldest first, each with the activity that has yet to hear it."""
        self._listening = asyncio.Lock()
        self._woken = asyncio.Event()
        self._hearing: asyncio.Task[None] | None = None
        self.kinds = ABOUT_OPEN | {each.opens for each in activities}

    async def load(self) -> None:
        """Read which forms and tasks an earlier session left open. Queue the exchanges that the one
        opened last has not heard yet.

        Raises:
            StoreError: the state can't be read.
        """
        for each in self._activities:
            await each.load()
        newest = self._newest
        if newest is not None:
            unheard = _unheard(self._conversation(), newest)
            self._waiting.extend((each, newest) for each in unheard)
            self._woken.set()

    def block(self) -> str:
        """Return what the model is told about the activity that was opened last; empty if none is
        open."""
        newest = self._newest
        return newest.block() if newest is not None else ""

    @property
    def listens(self) -> bool:
        """Whether a form or a task is open."""
        return self._newest is not None

    async def takes(self, text: str) -> Act | None:
        """As `Activity.takes`, for the activity that was opened last."""
        newest = self._newest
        return await newest.takes(text) if newest is not None else None

    # -- as a `Skill` ---------------------------------------------------------------------------

    async def carry_out(self, command: Command) -> Reply | None:
        await self._catch_up()
        for each in self._activities:
            if each.opens is command.kind:
                return await each.open(command)
        newest = self._newest
        if newest is None:
            return None  # nothing is open, so something else was meant
        return await _acts(newest)[command.kind]()

    async def ask(self, command: Command) -> Reply | None:
        for each in self._activities:
            if each.opens is command.kind:
                return await each.ask_to_open(command)
        newest = self._newest
        if newest is None:
            return None
        if command.kind in (CommandKind.FORM_STATUS, CommandKind.FORM_READ):  # changes nothing
            return await self.carry_out(command)
        done = command.kind is CommandKind.FORM_DONE
        text = f"Are we done with {newest.name}?" if done else f"Shall I drop {newest.name}?"
        return Reply(text, if_yes=_acts(newest)[command.kind], if_no="All right, let's go on.")

    # -- what the model answers -----------------------------------------------------------------

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        match event:
            case TurnEnded() if event.exchange and (newest := self._newest) is not None:
                newest.answered(event.exchange, event.assistant)
                self._waiting.append((event.exchange, newest))
                self._woken.set()
            case TurnEnded() if event.exchange:
                self._remark(partial(self._ask_on, event.exchange))
            case UserSensed() if self._hearing is not None:
                self._hearing.cancel()

    async def run(self) -> None:
        """Have the open activity hear the exchanges that the model answered, until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._waiting:
                await self._quiet()
                if not self._waiting:  # `_catch_up` did not wait for quiet
                    break
                waiting = self._waiting[0]
                self._hearing = asyncio.create_task(self._hear(*waiting))
                try:
                    await asyncio.wait({self._hearing})
                finally:
                    cancelled = self._hearing.cancelled()
                    self._hearing.cancel()
                    self._hearing = None
                if not cancelled:
                    self._heard(waiting)
                    if not self._waiting:
                        self._remark(partial(self._ask_on, waiting[0]))

    async def _catch_up(self) -> None:
        """Hear what was said before a command, because the command may be about it. Give up after
        `CATCH_UP_S` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                while self._waiting:
                    waiting = self._waiting[0]
                    await self._hear(*waiting)
                    self._heard(waiting)

    def _heard(self, waiting: tuple[str, Activity]) -> None:
        if self._waiting and self._waiting[0] == waiting:
            self._waiting.popleft()

    async def _hear(self, key: str, activity: Activity) -> None:
        async with self._listening:
            exchanges = {each.id: each for each in self._conversation().exchanges}
            if activity.opened is None or key not in exchanges:  # closed or forgotten meanwhile
                return
            try:
                await activity.hear(exchanges[key])
            except StoreError as error:
                logger.warning("what was said could not be filled in: %s", error)
            except Exception:  # whatever the error, the conversation goes on
                logger.exception("What was said could not be filled in.")

    async def _ask_on(self, key: str) -> Reply | None:
        """Ask for what is missing. If nothing is open, ask what to do with a form or task that was
        left unfinished. Ask nothing if the exchange `key` is no longer the last one, or if its
        answer was interrupted or was a question."""
        newest, exchanges = self._newest, self._conversation().exchanges
        if not exchanges or exchanges[-1].id != key:
            return None
        if exchanges[-1].interrupted or exchanges[-1].assistant_text.rstrip().endswith("?"):
            return None
        for each in self._activities if newest is None else (newest,):
            if (reply := await each.ask_on()) is not None:
                return reply
        return None

    @property
    def _newest(self) -> Activity | None:
        """The activity that was opened last, if any is open."""
        found = [each for each in self._activities if each.opened is not None]
        return max(found, key=lambda each: each.opened or LONG_AGO, default=None)


def _acts(activity: Activity) -> dict[CommandKind, Callable[[], Awaitable[Reply]]]:
    return {
        CommandKind.FORM_STATUS: activity.status,
        CommandKind.FORM_READ: activity.read_back,
        CommandKind.FORM_CANCEL: activity.cancel,
        CommandKind.FORM_DONE: activity.finish,
    }


def _unheard(conversation: Conversation, activity: Activity) -> list[str]:
    """Return the ids of the exchanges that came after the activity was opened or resumed, and after
    the last one that it has heard."""
    since = activity.opened or LONG_AGO
    ids = [each.id for each in conversation.exchanges if not each.open and each.started > since]
    return ids[ids.index(activity.heard) + 1 :] if activity.heard in ids else ids
