"""Forgetting, from the user's word to the last byte.

    forget    out of recall, window, summary and prompt at once; noted on the disk, ids alone
    undo      within the grace time all of it is back, after a restart too
    purge     when the grace time is over, and it is quiet, or at once where somebody waits for it:
              gone from every place that held it

What is noted is hidden from the next start on, before anything is recalled; a purge that was
interrupted is done again from its beginning.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

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
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript

logger = logging.getLogger(__name__)

AGAIN_S = 30.0
"""After a purge that failed."""
SOON_S = 0.05


class HidesMemories(Protocol):
    """The long-term memory, as far as it hides things."""

    def withhold(self, hidden: HiddenItems) -> None: ...

    def release(self, hidden: HiddenItems) -> None: ...

    def remember(self, conversation: str, exchange: Exchange) -> None: ...


class LiveConversation(Protocol):
    """The running conversation."""

    def forget(self, exchanges: Collection[str]) -> None: ...

    @property
    def conversation(self) -> str: ...

    @property
    def exchanges(self) -> Sequence[Exchange]: ...

    def bring_back(self, ids: Collection[str], exchanges: Sequence[Exchange]) -> None: ...

    def drop(self, exchanges: Collection[str]) -> None: ...


class ForgettingExecutor:
    """One user's. Belongs to the event loop.

    Args:
        purge: removes it for good, blocking; may raise StoreError, and then is called again.
        quiet: waits until nobody speaks.
        memory: None where nothing is remembered beyond the conversation.
    """

    def __init__(
        self,
        user: str,
        transcript: Transcript,
        memory: HidesMemories | None,
        window: LiveConversation,
        *,
        grace_s: float,
        purge: Callable[[HiddenItems], Receipt | None],
        quiet: Callable[[], Awaitable[None]],
        emit: Callable[[Event], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._user = user
        self._transcript = transcript
        self._memory = memory
        self._window = window
        self._grace = timedelta(seconds=grace_s)
        self._purge = purge
        self._quiet = quiet
        self._emit = emit
        self._now = now
        self._hidden: list[HiddenItems] = []
        self._changed = asyncio.Event()
        self._one_purge = asyncio.Lock()
        self._purging: HiddenItems | None = None
        self._awaited: set[str] = set()
        """Ids of what somebody waits for; `run` leaves it to them."""
        self._unnoted: set[str] = set()
        """Ids of what the disk does not know of."""

    @property
    def gives_time(self) -> bool:
        """What is forgotten can be brought back for a while."""
        return self._grace > timedelta()

    def now(self) -> datetime:
        """UTC."""
        return self._now()

    @property
    def hidden(self) -> tuple[HiddenItems, ...]:
        """What is not gone yet, oldest first."""
        return tuple(self._hidden)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Of the running conversation, kept or not; without the one that is being answered."""
        return tuple(each for each in self._window.exchanges if not each.open)

    async def load(self) -> None:
        """Go on with what was begun in an earlier session, as far as it is not purged meanwhile.

        Raises:
            StoreError: the transcript can't be read.
        """
        before = list(self._hidden)
        noted = await asyncio.to_thread(self._transcript.hidden, self._user)
        ids = {hidden.id for hidden in noted}
        gone = [each for each in before if each.id not in ids | self._unnoted]
        new = [each for each in self._hidden if each.id not in ids and each not in gone]
        self._hidden = noted + new
        if self._memory is not None:  # it withholds by itself what the transcript notes
            for hidden in gone:
                self._memory.release(hidden)

    async def forget(self, exchanges: Collection[str], memories: Collection[str]) -> HiddenItems:
        """From now on nobody sees it; from the end of the grace time on nobody can.

        Raises:
            StoreError: it is hidden, but could not be noted: only this session knows of it.
        """
        hidden = HiddenItems.of(self._user, exchanges, memories, self._now(), self._grace)
        await self._hide(hidden)
        return hidden

    async def forget_now(
        self, exchanges: Collection[str], memories: Collection[str]
    ) -> Receipt | None:
        """Out of sight at once, and gone for good when it returns, whoever speaks meanwhile; None
        where there is only a transcript.

        Raises:
            StoreError: it is hidden, and `run` tries again.
        """
        hidden = HiddenItems.of(self._user, exchanges, memories, self._now())
        self._awaited.add(hidden.id)
        try:
            await self._hide(hidden)
            return await self._purge_one(hidden)
        finally:
            self._awaited.discard(hidden.id)
            self._changed.set()

    async def _hide(self, hidden: HiddenItems) -> None:
        if self._memory is not None:
            self._memory.withhold(hidden)
        self._window.forget(hidden.exchanges)
        self._hidden.append(hidden)
        self._unnoted.add(hidden.id)
        self._changed.set()
        try:
            await asyncio.to_thread(self._transcript.hide, hidden)
            self._unnoted.discard(hidden.id)
        finally:
            ids = (tuple(hidden.exchanges), tuple(hidden.memories))
            self._emit(ForgettingBegan(hidden.id, *ids, hidden.due))

    async def undo(self, key: str | None = None) -> HiddenItems | None:
        """Bring back what was forgotten last, or under this id; None where that can't be brought
        back any more.

        Raises:
            StoreError: the transcript can't be read or written; nothing has changed.
        """
        now = self._now()
        left = [
            each
            for each in self._hidden
            if not each.over(now) and each is not self._purging and key in (None, each.id)
        ]
        if not left:
            return None
        hidden = left[-1]
        self._hidden.remove(hidden)  # no purge may begin from here on
        try:
            found = await asyncio.to_thread(self._exchanges_of, hidden)
            await asyncio.to_thread(self._transcript.show_again, self._user, hidden.id)
        except StoreError:
            self._hidden.append(hidden)
            raise
        self._unnoted.discard(hidden.id)
        if self._memory is not None:
            self._memory.release(hidden)
            for conversation, exchange in found:  # some may have been hidden before it was read
                self._memory.remember(conversation, exchange)
        here = [each for conversation, each in found if conversation == self._window.conversation]
        self._window.bring_back(hidden.exchanges, here)
        self._emit(ForgettingUndone(hidden.id))
        return hidden

    async def run(self) -> None:
        """Purge what is due, while nobody speaks; until it is cancelled."""
        while True:
            self._changed.clear()
            pause = self._until_next() if await self.purge_due() else AGAIN_S
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def purge_due(self) -> bool:
        """All that is due now; says whether nothing is left of it."""
        for hidden in [each for each in self._hidden if each.over(self._now())]:
            if hidden.id in self._awaited:
                continue
            await self._quiet()
            try:
                await self._purge_one(hidden)
            except StoreError as error:
                logger.warning("what is to be forgotten stays hidden for now: %s", error)
                return False
            except Exception:  # it must be tried again, whatever it was
                logger.exception("a purge failed")
                return False
        return True

    async def _purge_one(self, hidden: HiddenItems) -> Receipt | None:
        """Raises what the purge does; it is hidden on then."""
        async with self._one_purge:
            if hidden not in self._hidden:
                return None
            self._purging = hidden
            receipt: Receipt | None = None
            try:
                wanted = await asyncio.to_thread(self._still_wanted, hidden)
                if wanted:
                    receipt = await asyncio.to_thread(self._purge, hidden)
                    await asyncio.to_thread(self._transcript.show_again, self._user, hidden.id)
            finally:
                self._purging = None
            self._hidden.remove(hidden)
            self._unnoted.discard(hidden.id)
            self._window.drop(hidden.exchanges)
            if self._memory is not None and (receipt is None or receipt.clean):
                self._memory.release(hidden)
        if wanted:
            self._tell(hidden, receipt)
        return receipt

    def _still_wanted(self, hidden: HiddenItems) -> bool:
        """Another process may have undone it, where this one can't be asked to."""
        noted = self._transcript.hidden(self._user)
        return hidden.id in self._unnoted or any(each.id == hidden.id for each in noted)

    def _tell(self, hidden: HiddenItems, receipt: Receipt | None) -> None:
        self._emit(done(hidden, receipt))
        if receipt is not None and not receipt.clean:
            where = ", ".join(each.name for each in receipt.searched if each.found)
            text = f"Some of what was forgotten is still found in: {where}."
            self._emit(Notice(text, Severity.WARNING, "assistant memory verify-forgotten"))

    def _until_next(self) -> float | None:
        """Never long: the clock may be set."""
        if not self._hidden:
            return None
        next_due = (min(each.due for each in self._hidden) - self._now()).total_seconds()
        return min(max(next_due, SOON_S), AGAIN_S)

    def _exchanges_of(self, hidden: HiddenItems) -> list[tuple[str, Exchange]]:
        return list(self._transcript.exchanges(self._user, set(hidden.exchanges)))


def done(hidden: HiddenItems, receipt: Receipt | None) -> ForgettingDone:
    """What a face is told of a purge; without a receipt there is only a transcript."""
    if receipt is None:
        return ForgettingDone(hidden.id)
    sums = (receipt.files, receipt.bytes, receipt.clean)
    return ForgettingDone(hidden.id, *sums, receipt.searched, receipt.unprovable)
