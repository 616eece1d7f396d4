"""Opens a session's memory, purges forgotten data and lets other processes access the memory."""

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from assistant.compose.conversation import load_forgetting
from assistant.compose.memory import open_home_memory
from assistant.compose.requests import RequestHandler, serve_requests
from assistant.context import ShortTermMemory
from assistant.encryption import MasterKey
from assistant.errors import StoreBusy, StoreError
from assistant.event_bus import EventBus, from_any_thread
from assistant.events import Event, Notice, ProfileChanged, Severity
from assistant.memory import ForgettingExecutor, MemoryService
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice import Dialogue

logger = logging.getLogger(__name__)

TRANSCRIPT_WAIT_S = 20.0
"""Seconds to wait for a program that has locked the transcript. If it is still locked after that,
the session is not stored."""


async def open_session_memory(
    home: Home, settings: Settings, bus: EventBus, key: MasterKey | None, stack: AsyncExitStack
) -> MemoryService | None:
    """Open the memory, but don't read its store yet. Return None if the transcript can't be opened.
    The conversation then goes on without being stored."""
    emit = from_any_thread(bus)
    try:
        memory = await asyncio.to_thread(_opened, home, settings, key, emit)
    except StoreError as error:
        bus.emit(Notice(f"{error} This conversation is not stored.", Severity.WARNING, error.mend))
        return None
    stack.push_async_callback(asyncio.to_thread, memory.close)
    await asyncio.to_thread(memory.prepare)
    stack.callback(bus.subscribe(memory.watch))
    return memory


def _opened(
    home: Home, settings: Settings, key: MasterKey | None, emit: Callable[[Event], None]
) -> MemoryService:
    """Open the memory. If another program, such as a backup, has locked the transcript, wait for
    it. Raises StoreError."""
    until, reported = time.monotonic() + TRANSCRIPT_WAIT_S, False
    while True:
        try:
            return open_home_memory(home, settings, key, emit)
        except StoreBusy as error:
            if time.monotonic() > until:
                raise
            if not reported:
                emit(Notice(f"{error} Waiting for it.", Severity.WARNING, error.mend))
                reported = True


def start_session_memory(
    memory: MemoryService,
    home: Home,
    window: ShortTermMemory,
    dialogue: Dialogue,
    forgetting: ForgettingExecutor,
    handlers: Mapping[str, RequestHandler],
    bus: EventBus,
    stack: AsyncExitStack,
) -> None:
    """Start a background task that reads the memories, purges forgotten data whose grace period is
    over, and then accepts requests from other processes. It runs in the background because
    importing LanceDB takes a long time.

    Args:
        handlers: as in `serve_requests`.
    """

    def follow(event: Event) -> None:
        if isinstance(event, ProfileChanged):
            dialogue.refresh()

    async def forget_when_due() -> None:
        """Purge forgotten data as its grace period ends. If there is a long-term memory, data that
        was due at the start has already been purged."""
        await load_forgetting(forgetting, bus)
        await forgetting.run()

    async def run() -> None:
        user = memory.session_user
        if user is not None:
            await memory.start(dialogue)
            gc.collect()
            # With 100,000 memories, garbage collection takes 0.17 s. Meanwhile no sound is handled.
            gc.freeze()
            # Otherwise, memories forgotten later would stay in RAM when the assistant restarts
            # within this process.
            stack.callback(gc.unfreeze)
            user.strengthening.begin()
        stack.callback(asyncio.create_task(forget_when_due()).cancel)
        if user is not None:
            await user.writable.wait()  # until then, commands open the memories themselves
        await serve_requests(home, memory, handlers, stack)

    stack.callback(bus.subscribe(follow))
    stack.callback(asyncio.create_task(run()).cancel)
    stack.callback(asyncio.create_task(memory.expire(window.conversation.id)).cancel)
