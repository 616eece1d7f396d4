"""Opens the user's state, and creates what watches when something of it is due."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from assistant.event_bus import EventBus, from_any_thread
from assistant.memory import MemoryService, Transcript
from assistant.settings import Settings
from assistant.skills import Clocks, DueEntries, DueWatch
from assistant.state import StateStore
from assistant.voice import VoiceLoop


@dataclass(frozen=True, slots=True)
class UserState:
    """The state of a session's user, and what watches when something of it is due."""

    store: StateStore
    due: DueWatch


def open_state(
    memory: MemoryService | None,
    settings: Settings,
    bus: EventBus,
    loops: Sequence[VoiceLoop],
    stack: AsyncExitStack,
) -> UserState:
    """Open the state. Without a memory, it lasts as long as the session.

    Args:
        loops: contains the voice loop once it exists; what is due rings there.
    """
    if memory is not None:
        transcript = memory.transcript
    else:
        transcript = Transcript.in_ram()
        stack.callback(transcript.close)
    store = StateStore(transcript, settings.general.user, from_any_thread(bus))
    due = DueWatch(DueEntries(store, Clocks()), LoopRinger(loops), bus.emit)
    bus.subscribe(due.watch)
    return UserState(store, due)


def start_due_watch(due: DueWatch, stack: AsyncExitStack) -> None:
    """Watch in the background until the session ends. The voice loop runs by now."""
    stack.callback(asyncio.create_task(due.run()).cancel)


class LoopRinger:
    """Rings in the voice loop, which is created after the skills.

    Args:
        loops: contains the voice loop once it exists.
    """

    def __init__(self, loops: Sequence[VoiceLoop]) -> None:
        self._loops = loops

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> bool:
        (loop,) = self._loops
        return await loop.ringer.ring(words, insistent=insistent)

    def silence(self) -> bool:
        return any(loop.ringer.silence() for loop in self._loops)
