"""Opens the user's state, and creates the watch that rings when something is due."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

from assistant.compose.memory import log_notice, open_home_memory
from assistant.compose.requests import RequestHandler, serve_requests
from assistant.encryption import Vault
from assistant.errors import StoreError
from assistant.event_bus import EventBus, from_any_thread
from assistant.memory import MemoryService, Transcript
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import Clocks, DueEntries, DueWatch, Ringer
from assistant.state import ACTS, StateRequests, StateStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UserState:
    """The state of a session's user, and the watch that rings when something is due."""

    store: StateStore
    due: DueWatch
    handlers: Mapping[str, RequestHandler]
    """The functions that answer requests from other processes, by the request's `act`."""


def open_state(
    memory: MemoryService | None,
    settings: Settings,
    bus: EventBus,
    ringer: Ringer,
    off_record: Callable[[], bool],
    stack: AsyncExitStack,
) -> UserState:
    """Open the state. Without a memory, it lasts as long as the session."""
    if memory is not None:
        transcript = memory.transcript
    else:
        transcript = Transcript.in_ram()
        stack.callback(transcript.close)
    store = StateStore(transcript, settings.general.user, from_any_thread(bus))
    requests = StateRequests(transcript, store, settings.general.user, off_record)
    if memory is not None:
        memory.state_outlines = requests.outlines
    due = DueWatch(DueEntries(store, Clocks()), ringer, bus.emit)
    bus.subscribe(due.watch)
    return UserState(store, due, dict.fromkeys(ACTS, requests.answer))


@contextmanager
def open_state_requests(home: Home, settings: Settings, vault: Vault) -> Iterator[StateRequests]:
    """Open a home's state, to show or change it while no assistant is running there. Blocking.

    Args:
        vault: the home's vault; stays open.

    Raises:
        StoreError: the home can't be opened.
    """
    with open_home_memory(home.create(), settings, vault.key, log_notice) as memory:
        yield StateRequests(memory.transcript)


async def start_state(
    state: UserState, home: Home, memory: MemoryService | None, stack: AsyncExitStack
) -> None:
    """Show the state on the screen, and ring when something is due, until the session ends. The
    voice loop must be running. Without a memory, also accept requests about the state."""
    stack.callback(asyncio.create_task(state.due.run()).cancel)
    try:
        await asyncio.to_thread(state.store.tell)
    except StoreError as error:
        logger.error("the state can't be shown: %s", error)
    if memory is None:
        await serve_requests(home, None, state.handlers, stack)
