"""Opens the user's state, and creates what watches when something of it is due."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from assistant.event_bus import EventBus, from_any_thread
from assistant.memory import MemoryService, Transcript
from assistant.settings import Settings
from assistant.skills import Clocks, DueEntries, DueWatch, Ringer
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
    ringer: Ringer,
    stack: AsyncExitStack,
) -> UserState:
    """Open the state. Without a memory, it lasts as long as the session."""
    if memory is not None:
        transcript = memory.transcript
    else:
        transcript = Transcript.in_ram()
        stack.callback(transcript.close)
    store = StateStore(transcript, settings.general.user, from_any_thread(bus))
    due = DueWatch(DueEntries(store, Clocks()), ringer, bus.emit)
    bus.subscribe(due.watch)
    return UserState(store, due)


def start_due_watch(due: DueWatch, stack: AsyncExitStack) -> None:
    """Watch in the background until the session ends. The voice loop must be running."""
    stack.callback(asyncio.create_task(due.run()).cancel)
