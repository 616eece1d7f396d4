"""Opens the user's state, and creates what watches when something of it is due."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from assistant.event_bus import EventBus, from_any_thread
from assistant.memory import MemoryService, Transcript
from assistant.settings import Settings
from assistant.skills import Clocks, DueEntries, DueWatch, Remark, Reply
from assistant.state import StateStore


@dataclass(frozen=True, slots=True)
class UserState:
    """The state of a session's user, and what watches when something of it is due."""

    store: StateStore
    due: DueWatch


def open_state(
    memory: MemoryService | None,
    settings: Settings,
    bus: EventBus,
    remark: Callable[[Remark], object],
    stack: AsyncExitStack,
) -> UserState:
    """Open the state. Without a memory, it lasts as long as the session.

    Args:
        remark: tells what is due.
    """
    if memory is not None:
        transcript = memory.transcript
    else:
        transcript = Transcript.in_ram()
        stack.callback(transcript.close)
    store = StateStore(transcript, settings.general.user, from_any_thread(bus))
    due = DueWatch(DueEntries(store, Clocks()), RemarkRinger(remark), bus.emit)
    bus.subscribe(due.watch)
    return UserState(store, due)


def start_due_watch(due: DueWatch, stack: AsyncExitStack) -> None:
    """Watch in the background until the session ends. Remarks must be possible by now."""
    stack.callback(asyncio.create_task(due.run()).cancel)


class RemarkRinger:
    """Tells what is due once, without a sound before it.

    Args:
        remark: says a remark once nobody speaks.
    """

    def __init__(self, remark: Callable[[Remark], object]) -> None:
        self._remark = remark

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> bool:
        del insistent
        said = asyncio.get_running_loop().create_future()

        async def tell() -> Reply | None:
            text = words()
            if not said.done():
                said.set_result(text is not None)
            return Reply(text) if text is not None else None

        self._remark(tell)
        return bool(await said)

    def silence(self) -> bool:
        return False
