"""Queues memories for the store, and retries while the store can't be written.

If the store can't be reached, is full or is in use by another assistant, nothing is lost. New
memories wait in this queue (they are also in the transcript), and are written when the store is
available again. All methods run on the writer thread, unless they say "any thread".
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable

from assistant.errors import AssistantError, StoreDamaged, StoreError, StoreInUse
from assistant.events import Notice, Severity
from assistant.memory.records.memory import Memory
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstone_table import TombstoneTable

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 2.0
LONGEST_RETRY_S = 60.0
"""Maximum number of seconds between two attempts. The pause doubles with each attempt."""


class WriteQueue:
    """The queue of memories between RAM and the store.

    Args:
        open_table: opens the table; blocking, and may raise StoreError.
        close_table: releases the table, and closes it unless others use it too.
        tell: receives a notice when storing begins to fail, and when it works again.
        try_later: schedules another attempt to open the store after the given number of seconds.
    """

    def __init__(
        self,
        open_table: Callable[[], MemoryTable],
        close_table: Callable[[MemoryTable], None],
        tell: Callable[[Notice], None],
        try_later: Callable[[float], None],
    ) -> None:
        self.table: MemoryTable | None = None
        self._open_table = open_table
        self._close_table = close_table
        self._tell_user = tell
        self._try_later = try_later
        self._unwritten: dict[str, Memory] = {}
        self._lock = threading.Lock()
        self._may_be_there = False
        self._read = False
        self._failing = False
        self._error: StoreError | None = None
        self._forgotten: TombstoneTable | None = None
        self._retrying = False
        self._damaged = False
        """Whether the store was found to be damaged. If so, it is set aside when it is next
        opened."""
        self._pause_s = FIRST_RETRY_S

    @property
    def writes(self) -> bool:
        """Whether the store has been read completely, and this process may write to it."""
        return self._read and self.table is not None and self.table.refused is None

    @property
    def settled(self) -> bool:
        """Whether the store can be written and contains all memories."""
        return self.writes and not self._unwritten

    def why(self) -> StoreError:
        """Return an error that explains why the table is not open."""
        if self._error is not None:
            return StoreError(str(self._error), mend=self._error.mend)
        return StoreError("The memories are still loading.", mend="Try again in a moment.")

    def open(self) -> bool:
        """Open the store, or become its writer if it was read-only. Returns whether the memories
        must be read again, e.g. because the store was just opened, or another machine forgot
        something."""
        self._retrying = False
        if self.table is not None and self.table.refused is None:
            return False
        try:
            table = self._open_table()
        except StoreError as error:
            self.failed(error)
            return False
        forgotten, self._forgotten = self._forgotten, table.forgotten
        news = forgotten is not None and len(table.forgotten) != len(forgotten)
        if table.refused is not None and self.table is not None and not news:
            self._close_table(table)
            self.failed(table.refused)
            return False
        self._lose()
        self.table = table
        if table.refused is not None:
            self.failed(table.refused)
        return True

    def read(
        self, load: Callable[[MemoryTable], None], has: Callable[[str], bool]
    ) -> list[Memory] | None:
        """Read the store. Returns the memories that must still be written to it; None if it could
        not be read completely.

        Args:
            load: reads the table; may raise StoreError.
            has: returns whether the memory with this id was read.
        """
        table = self.table
        if table is None:
            return None
        try:
            load(table)
        except StoreError as error:
            self._half_read(table, error)
            return None
        except Exception:
            logger.exception("the memories can't be read")
            failure = StoreError("The memories can't be read; the reason is in the log.")
            self._half_read(table, failure)
            return None
        table.proved()
        self._read = True
        with self._lock:
            waiting = [each for key, each in self._unwritten.items() if not has(key)]
            self._unwritten = {memory.id: memory for memory in self.kept(waiting)}
            left = list(self._unwritten.values())
        self._recovered()
        return left

    def kept(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return the memories that have not been forgotten, according to the tombstones known so
        far. Quick; any thread."""
        marker = self._forgotten
        return marker.kept(memories) if marker is not None else list(memories)

    def wait(self, memories: Iterable[Memory]) -> None:
        """Queue memories until the next `flush`. Quick; any thread."""
        with self._lock:
            self._unwritten |= {memory.id: memory for memory in memories}

    def flush(self) -> None:
        """Write the queued memories to the store, if it can be written."""
        with self._lock:
            waiting = list(self._unwritten.values())
        if not waiting:
            return
        # A write that raised an error may still have reached the store.
        merging, self._may_be_there = self._may_be_there, True

        def act(table: MemoryTable) -> None:
            if merging:
                table.put(waiting)
            else:
                table.add(waiting)
            self.discard([memory.id for memory in waiting])
            self._may_be_there = False

        self.write(act)

    def may_have(self, ids: Iterable[str]) -> None:
        """Drop these memories from the queue, because they were written to the store in another
        way. The next `flush` replaces memories that the store already has, so none is
        duplicated."""
        self.discard(list(ids))
        self._may_be_there = True

    def discard(self, ids: Collection[str]) -> None:
        """Remove memories from the queue."""
        with self._lock:
            for key in ids:
                self._unwritten.pop(key, None)

    def first(self, act: Callable[[MemoryTable], object]) -> None:
        """Run an action on the table, even if the table is read-only. Meant for a table that was
        just opened."""
        self._do(act, proves=False)

    def write(self, act: Callable[[MemoryTable], object], *, proves: bool = True) -> None:
        """Run an action that changes the table. Does nothing unless the table is open for writing.

        Args:
            proves: whether success of the action shows that storing works again.
        """
        if self.table is not None and self.table.refused is None:
            self._do(act, proves=proves)

    def _do(self, act: Callable[[MemoryTable], object], *, proves: bool) -> None:
        if self.table is None:
            return
        try:
            act(self.table)
        except StoreError as error:
            self.failed(error)
            if isinstance(error, StoreInUse):
                self._lose()  # another writer took over while this machine slept
        else:
            if proves:
                self._recovered()

    def failed(self, error: StoreError) -> None:
        """Report an error from the store, and try to open the store again later."""
        self._error = error
        self.tell(error)
        if isinstance(error, StoreDamaged):
            if self._damaged:  # the store could not be set aside
                return
            self._damaged = True
        if self._retrying:
            return
        self._retrying = True
        self._try_later(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_RETRY_S)

    def tell(self, error: AssistantError) -> None:
        """Log a failure. The user is notified only of the first failure since storing last
        worked."""
        logger.error("long-term memory: %s", error, exc_info=error)
        if not self._failing:
            self._failing = True
            self._tell_user(Notice(str(error), Severity.WARNING, error.mend))

    def close(self) -> None:
        """Release the table. May be called repeatedly. Memories still in the queue are also in the
        transcript."""
        self._lose()

    # -- inside ---------------------------------------------------------------------------------

    def _recovered(self) -> None:
        if self.table is None or self.table.refused is not None or self._unwritten:
            return
        self._pause_s, self._damaged = FIRST_RETRY_S, False
        if self._failing:
            self._failing = False
            self._tell_user(Notice("Memories can be stored again."))

    def _half_read(self, table: MemoryTable, error: StoreError) -> None:
        if isinstance(error, StoreDamaged):
            table.distrust()
        self.failed(error)
        self._lose()  # writing after a partial read would duplicate rows

    def _lose(self) -> None:
        table, self.table = self.table, None
        self._read = False
        if table is not None:
            self._close_table(table)
