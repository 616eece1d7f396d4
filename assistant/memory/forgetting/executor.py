"""Carries out requests to forget, for all callers.

    hide      hides items immediately from recall, the context window, its summary and the prompt.
              Only their ids are recorded on disk.
    undo      within the grace period, brings all items of a request back, even after a restart
    purge     deletes the items after the grace period, while nobody speaks; or immediately if a
              caller waits for it

At the next start, recorded items are hidden again before anything is recalled. An interrupted purge
starts again from the beginning.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.events import (
    Event,
    ForgettingBegan,
    ForgettingDone,
    ForgettingUndone,
    Notice,
    Severity,
)
from assistant.ipc import Result, run_on_loop
from assistant.memory.forgetting.answer_origins import AnsweredTurn
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.purge import purge
from assistant.memory.forgetting.receipts import PurgeResult, Receipt
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory
from assistant.memory.transcript.database import Transcript

logger = logging.getLogger(__name__)

AGAIN_S = 30.0
"""Seconds until a failed purge is retried."""
SOON_S = 0.05


class HidesItems(Protocol):
    """An object in RAM whose exchanges or memories can be hidden from the user."""

    def hide(self, items: HiddenItems) -> None:
        """Hide the items before returning. May be called repeatedly."""

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]]
    ) -> Sequence[Exchange]:
        """Undo `hide`, and return the unhidden exchanges that were stored only in this object.

        Args:
            exchanges: the unhidden exchanges in the transcript, each with its conversation's id.
        """

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """React to the end of a purge: the items can't be brought back any more.

        Args:
            clean: whether no traces of the items were found.
        """


class LiveConversation(HidesItems, Protocol):
    """The running conversation."""

    @property
    def exchanges(self) -> Sequence[Exchange]: ...


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The items that an undo has brought back."""

    items: HiddenItems
    exchanges: tuple[Exchange, ...]
    memories: tuple[Memory, ...]
    """The memories in `items` that exist. Memories that are not in `items`, but based on the
    exchanges, are not included.
    """


class ForgettingExecutor:
    """Carries out requests to forget for one user.

    In a session, the executor belongs to the event loop, and callers on other threads use
    `wait_for`. Without a session, it may be called from any event loop, one call at a time.

    Args:
        hides: the objects that must hide items. Their methods are called on the event loop. More
            objects may be added later.
        grace_s: seconds during which a request can be undone.
        quiet: waits until nobody speaks; None if no session is running.
        live: the running conversation, so that requests can refer to its last exchange.
    """

    def __init__(
        self,
        transcript: Transcript,
        memories: MemoryAccess,
        hides: Sequence[HidesItems] = (),
        *,
        grace_s: float,
        quiet: Callable[[], Awaitable[object]] | None = None,
        live: LiveConversation | None = None,
        emit: Callable[[Event], object] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._user = memories.user
        self._transcript = transcript
        self._memories = memories
        self._hides = hides
        self._grace = timedelta(seconds=grace_s)
        self._quiet = quiet
        self._loop = asyncio.get_running_loop() if quiet is not None else None
        self._live = live
        self._emit = emit
        self._now = now
        self._hidden: list[HiddenItems] = []
        self._changes = 0
        self._changed = asyncio.Event()
        self._one_purge = asyncio.Lock()
        self._purging: HiddenItems | None = None
        self._undoing: set[str] = set()
        self._awaited: set[str] = set()
        """Ids of items that a caller of `purge_now` is purging. `run` ignores these items."""
        self._unnoted: set[str] = set()
        """Ids of hidden items that are not recorded on disk."""

    @property
    def attended(self) -> bool:
        """Whether items are purged automatically when their grace period is over.

        Otherwise, the next start or command purges them.
        """
        return self._quiet is not None

    @property
    def gives_time(self) -> bool:
        """Whether forgetting can be undone for a while."""
        return self._grace > timedelta()

    def now(self) -> datetime:
        """Return the time in UTC, by the clock that decides when grace periods end."""
        return self._now()

    @property
    def hidden(self) -> tuple[HiddenItems, ...]:
        """The items that this process knows to be hidden but not purged, oldest first."""
        return tuple(self._hidden)

    async def pending(self) -> tuple[HiddenItems, ...]:
        """Return all items that have not been purged yet, including those that other processes
        recorded on disk.

        Raises:
            StoreError: the transcript can't be read.
        """
        await self.load()
        return self.hidden

    async def load(self) -> None:
        """Read the items that an earlier session or another process has recorded on disk.

        Raises:
            StoreError: the transcript can't be read.
        """
        while True:  # read again if items were hidden or brought back during the read
            before = self._changes
            noted = await asyncio.to_thread(self._transcript.hidden, self._user)
            if before == self._changes:
                break
        known = {each.id for each in self._hidden}
        kept = self._unnoted | {each.id for each in (*noted, self._purging) if each is not None}
        gone = [each for each in self._hidden if each.id not in kept]
        new = [each for each in noted if each.id not in known | self._undoing]
        self._hidden = [each for each in self._hidden if each.id in kept] + new
        for one in self._hides:
            for each in gone:
                one.purged(each, clean=True)
            for each in new:
                one.hide(each)
        if gone or new:
            self._change()

    async def hide(
        self, exchanges: Collection[str], memories: Collection[str], *, for_good: bool = False
    ) -> HiddenItems:
        """Hide items immediately. They are purged after the grace period or, with `for_good`, as
        soon as nobody speaks.

        Raises:
            StoreError: the items could not be recorded on disk. They are hidden in this session
                only.
        """
        grace = timedelta() if for_good else self._grace
        items = HiddenItems.of(self._user, exchanges, memories, self._now(), grace)
        await self._hide(items)
        return items

    async def purge_now(self, exchanges: Collection[str], memories: Collection[str]) -> PurgeResult:
        """Immediately hide items and delete them for good, even while somebody speaks.

        Raises:
            StoreError: the items are only hidden. The next start or command tries again.
        """
        items = HiddenItems.of(self._user, exchanges, memories, self._now())
        self._awaited.add(items.id)
        try:
            await self._hide(items)
            result = await self._purge_one(items)
        finally:
            self._awaited.discard(items.id)
            self._change()
        if result is None:
            raise StoreError("Another program has undone this request to forget.")
        return result

    async def _hide(self, items: HiddenItems) -> None:
        for each in self._hides:
            each.hide(items)
        self._hidden.append(items)
        self._unnoted.add(items.id)
        self._change()
        try:
            await asyncio.to_thread(self._transcript.hide, items)
            self._unnoted.discard(items.id)
        finally:
            self._change()
            self._emit(ForgettingBegan(items.id, items.exchanges, items.memories, items.due))

    async def undo(self, key: str | None = None) -> UndoResult | None:
        """Bring back the items with the id `key`, by default those hidden last. Return None if it
        is too late.

        Raises:
            StoreError: the transcript can't be read or written. Nothing has changed.
        """
        now = self._now()
        await self.load()
        left = [
            each
            for each in self._hidden
            if not each.over(now) and each is not self._purging and key in (None, each.id)
        ]
        if not left:
            return None
        items = left[-1]
        place = self._hidden.index(items)
        del self._hidden[place]  # no purge may begin from here on
        self._undoing.add(items.id)
        self._change()
        try:
            found = await asyncio.to_thread(self._bring_back, items)
        except Exception:
            self._hidden.insert(place, items)
            raise
        finally:
            self._undoing.discard(items.id)
            self._change()
        self._unnoted.discard(items.id)
        exchanges = {each.id: each for _, each in found}
        for one in self._hides:
            exchanges |= {each.id: each for each in one.unhide(items, found)}
        self._emit(ForgettingUndone(items.id))
        try:
            memories = await asyncio.to_thread(self._memories.some, items.memories)
        except StoreError as error:  # the items are back nonetheless
            logger.warning("the memories brought back can't be read yet: %s", error)
            memories = ()
        return UndoResult(items, tuple(exchanges.values()), tuple(memories))

    async def run(self) -> None:
        """Until cancelled, purge items when their grace period is over, while nobody speaks."""
        while True:
            self._changed.clear()
            pause = self._until_next() if await self.purge_due() else AGAIN_S
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def purge_due(self) -> bool:
        """Purge all items whose grace period is over; return False if it must be tried again."""
        try:
            await self.load()
        except StoreError as error:
            logger.warning("the list of pending deletions can't be read: %s", error)
            return False
        for items in [each for each in self._hidden if each.over(self._now())]:
            if items.id in self._awaited:
                continue
            if self._quiet is not None:
                await self._quiet()
            try:
                await self._purge_one(items)
            except StoreError as error:
                logger.warning("a purge failed; its items stay hidden: %s", error)
                return False
            except Exception:  # the purge must be retried, whatever the error
                logger.exception("a purge failed")
                return False
        return True

    # -- for callers on a thread; blocking --------------------------------------------------------

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` on the session's event loop, or on this thread if there is none; return its
        result.

        Must not be called on the event loop's own thread.

        Raises:
            StoreError: the session ended meanwhile. Exceptions of `work` are raised too.
        """
        return asyncio.run(work) if self._loop is None else run_on_loop(self._loop, work)

    def turns(self) -> list[AnsweredTurn]:
        """Return the exchanges of the running conversation."""
        live = self._live
        if live is None:
            return []

        async def read() -> list[AnsweredTurn]:
            return [AnsweredTurn(each) for each in live.exchanges]

        return self.wait_for(read())

    # -- inside ---------------------------------------------------------------------------------

    async def _purge_one(self, items: HiddenItems) -> PurgeResult | None:
        """Purge items; return None if they were brought back meanwhile.

        Raises:
            StoreError: the purge failed. The items stay hidden.
        """
        async with self._one_purge:
            if items not in self._hidden:
                return None
            self._purging = items
            try:
                result = await asyncio.to_thread(self._purge_unless_undone, items)
            finally:
                self._purging = None
            self._hidden.remove(items)
            self._unnoted.discard(items.id)
            self._change()
            for each in self._hides:
                each.purged(items, clean=result is None or result.receipt.clean)
        if result is not None:
            self._emit(done(items, result.receipt))
            if not result.receipt.clean:
                where = f"can still be found in: {result.receipt.places}."
                text = f"Some of what you asked to be forgotten {where}"
                self._emit(Notice(text, Severity.WARNING, "assistant memory verify-forgotten"))
        return result

    def _purge_unless_undone(self, items: HiddenItems) -> PurgeResult | None:
        """Purge items; return None if another process has undone the request.

        Another process can undo the request on disk without contacting this process.
        """
        noted = {each.id for each in self._transcript.hidden(self._user)}
        if items.id not in noted | self._unnoted:
            return None
        with self._memories.purging() as table:
            result = purge(items, self._transcript, table, self._memories.memory)
        self._transcript.unhide(self._user, items.id)
        return result

    def _bring_back(self, items: HiddenItems) -> list[tuple[str, Exchange]]:
        """Unhide items in the transcript; return their exchanges, with conversation ids."""
        found = list(self._transcript.exchanges(self._user, set(items.exchanges)))
        self._transcript.unhide(self._user, items.id)
        return found

    def _change(self) -> None:
        self._changes += 1
        self._changed.set()

    def _until_next(self) -> float | None:
        """Return the seconds until `run` purges next; None if it has nothing to purge. The result
        is at most `AGAIN_S`, because the clock may be changed meanwhile."""
        due = [each.due for each in self._hidden if each.id not in self._awaited]
        if not due:
            return None
        next_due = (min(due) - self._now()).total_seconds()
        return min(max(next_due, SOON_S), AGAIN_S)


def done(items: HiddenItems, receipt: Receipt) -> ForgettingDone:
    """Create the event that tells user interfaces about a finished purge."""
    sums = (receipt.files, receipt.bytes, receipt.clean)
    return ForgettingDone(items.id, *sums, receipt.searched, receipt.unprovable)
