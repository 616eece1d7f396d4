"""How a desk has things forgotten: in the session that runs, with its window and its indexes; or on
the disk alone, where none runs for this user."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from assistant.context import Exchange
from assistant.ipc import Result, run_on_loop
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

Purge = Callable[[HiddenItems], Receipt]


class Hiding(Protocol):
    """One user's. All calls block; none may be made on the event loop. All may raise StoreError."""

    @property
    def attended(self) -> bool:
        """What is due is purged by itself; else by the next start or command."""
        ...

    @property
    def gives_time(self) -> bool:
        """What is forgotten can be brought back for a while."""
        ...

    def now(self) -> datetime:
        """UTC, by the clock that decides what is over."""
        ...

    def here(self) -> Sequence[Exchange]:
        """The exchanges of the running conversation, kept or not."""
        ...

    def hide(self, exchanges: Collection[str], memories: Collection[str]) -> HiddenItems:
        """Out of sight from now on, and to be gone when the grace time is over."""
        ...

    def remove(self, exchanges: Collection[str], memories: Collection[str]) -> Receipt:
        """Gone for good when it returns. Where it raises, the next start goes on with it."""
        ...

    def pending(self) -> Sequence[HiddenItems]:
        """What is hidden and not gone yet, oldest first."""
        ...

    def undo(self, key: str) -> HiddenItems | None:
        """Bring it back; None where that is over."""
        ...

    def purge_due(self) -> None:
        """What is due goes now, unless that happens by itself."""
        ...


class OnDisk:
    """Noted in the transcript, and purged by whoever comes first when it is due.

    Args:
        memory: the user's long-term memory, as far as it is up.
        purge: removes it for good; may raise StoreError.
    """

    attended = False

    def __init__(
        self,
        user: str,
        open_transcript: Callable[[], Transcript],
        memory: Callable[[], UserMemory | None],
        purge: Purge,
        grace: timedelta = timedelta(),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._user = user
        self._transcript = open_transcript
        self._memory = memory
        self._purge = purge
        self._grace = grace
        self._now = now

    @property
    def gives_time(self) -> bool:
        return self._grace > timedelta()

    def now(self) -> datetime:
        return self._now()

    def here(self) -> Sequence[Exchange]:
        return ()

    def hide(self, exchanges: Collection[str], memories: Collection[str]) -> HiddenItems:
        hidden = HiddenItems.of(self._user, exchanges, memories, self._now(), self._grace)
        self._transcript().hide(hidden)
        memory = self._memory()
        if memory is not None:
            memory.withhold(hidden)
        return hidden

    def remove(self, exchanges: Collection[str], memories: Collection[str]) -> Receipt:
        hidden = HiddenItems.of(self._user, exchanges, memories, self._now())
        self._transcript().hide(hidden)  # whatever interrupts it, the next start goes on
        return self._purged(hidden)

    def pending(self) -> Sequence[HiddenItems]:
        return self._transcript().hidden(self._user)

    def undo(self, key: str) -> HiddenItems | None:
        now = self._now()
        for hidden in self.pending():
            if hidden.id == key and not hidden.over(now):
                self._shown_again(hidden)
                return hidden
        return None

    def purge_due(self) -> None:
        now = self._now()
        for hidden in self.pending():
            if hidden.over(now):
                self._purged(hidden)

    def _purged(self, hidden: HiddenItems) -> Receipt:
        receipt = self._purge(hidden)
        self._shown_again(hidden)
        return receipt

    def _shown_again(self, hidden: HiddenItems) -> None:
        self._transcript().show_again(self._user, hidden.id)
        memory = self._memory()
        if memory is not None:
            memory.release(hidden)


class InSession:
    """By the session that runs for this user, on its event loop: out of the window and the model's
    cache too, and purged while nobody speaks."""

    attended = True

    def __init__(self, forgetting: ForgettingExecutor, loop: asyncio.AbstractEventLoop) -> None:
        self._forgetting = forgetting
        self._loop = loop

    @property
    def gives_time(self) -> bool:
        return self._forgetting.gives_time

    def now(self) -> datetime:
        return self._forgetting.now()

    def here(self) -> Sequence[Exchange]:
        return self._on_loop(self._here())

    def hide(self, exchanges: Collection[str], memories: Collection[str]) -> HiddenItems:
        return self._on_loop(self._forgetting.forget(exchanges, memories))

    def remove(self, exchanges: Collection[str], memories: Collection[str]) -> Receipt:
        receipt = self._on_loop(self._forgetting.forget_now(exchanges, memories))
        assert receipt is not None, "where there is a desk there are memories"
        return receipt

    def pending(self) -> Sequence[HiddenItems]:
        return self._on_loop(self._pending())

    def undo(self, key: str) -> HiddenItems | None:
        return self._on_loop(self._forgetting.undo(key))

    def purge_due(self) -> None:
        """`ForgettingExecutor.run` does that."""

    async def _here(self) -> tuple[Exchange, ...]:
        return self._forgetting.exchanges

    async def _pending(self) -> tuple[HiddenItems, ...]:
        return self._forgetting.hidden

    def _on_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        return run_on_loop(self._loop, work)
