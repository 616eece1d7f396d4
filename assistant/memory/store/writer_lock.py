"""Ensures that each store has only one writer.

A folder is protected by a file lock, which the operating system releases even if the process
crashes. An object store has no locks. There, the writer takes a lease: a row with its name and an
expiry time. It renews the lease while it runs, and gives it back at the end. To take the lease, a
writer updates the row on the condition that its contents are unchanged. If two writers try this at
the same time, the store's conditional put accepts only one of the updates.

A lease has these limits. A killed writer keeps others out until its lease expires. A writer that is
suspended during a write, for longer than the lease, may finish that write after another writer has
taken over. The table stays intact, since every write is a transaction, but the new writer's index
misses that write. If the clocks of two machines differ by more than the lease, one of them may take
over too early. If an object store ignores conditions on a put, two writers may both succeed.
"""

import logging
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from filelock import FileLock, Timeout

from assistant.errors import StoreError, StoreInUse
from assistant.memory.store.lance_errors import discreet

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""Seconds after which a lease expires unless it is renewed. Its owner renews it after each third of
this time."""
RENEWALS_KEPT = 60
"""Number of renewals after which old versions of the lease's table are dropped. Each renewal adds a
version."""
LEASE_TABLE = "writer"


class WriterLock(Protocol):
    def check(self) -> None:
        """Raise StoreError if another writer may have taken over."""
        ...

    def release(self) -> None:
        """Let others write. May be called repeatedly."""
        ...


class SharedLock:
    """A lock that either many threads share or one thread holds exclusively."""

    def __init__(self) -> None:
        self._inside = 0
        self._taken = False
        self._changed = threading.Condition()

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._taken)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, patience_s: float) -> Iterator[bool]:
        """Try to get the lock exclusively, for at most `patience_s` seconds. Yields whether that
        succeeded. Meanwhile, others may still share the lock."""
        with self._changed:
            free = self._changed.wait_for(lambda: not (self._inside or self._taken), patience_s)
            self._taken = self._taken or free
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    self._taken = False
                    self._changed.notify_all()


class FolderLock:
    """A file lock on a folder, held from construction to `release` or to the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            StoreInUse: another process holds the lock.
            OSError: the lock file can't be written.
        """
        self._lock = FileLock(folder / ".lock", mode=0o600, thread_local=False)
        self._holder = folder / ".writer"
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise _in_use(str(folder), f"process {self._read_holder()}") from None
        try:
            self._holder.write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            self._lock.release()
            raise

    def check(self) -> None:
        """Do nothing, because a file lock can't be lost."""

    def release(self) -> None:
        self._lock.release()

    def _read_holder(self) -> str:
        """Return the id of the process that holds the lock, for a message; "unknown" if that
        process has not written its id yet."""
        try:
            return self._holder.read_text(encoding="ascii") or "unknown"
        except (OSError, UnicodeDecodeError):
            return "unknown"


class Lease:
    """A lease on an object store, held from `take` to `release` as long as it is renewed in
    time."""

    def __init__(self, table: Any, uri: str, seconds: float) -> None:
        self._table = table
        self._uri = uri
        self._seconds = seconds
        self._owner = uuid4().hex
        self._valid_until = (0.0, 0.0)
        self._renewals = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="memory-lease", daemon=True)

    @classmethod
    def take(cls, db: Any, uri: str, seconds: float | None = None) -> "Lease":
        """Become the writer of the store.

        Raises:
            StoreInUse: another writer holds the lease.
            LanceDB's own errors: the store can't be reached or written.
        """
        import pyarrow as pa

        free = {"key": [1], "owner": [""], "process": [0], "host": [""], "expires": [0]}
        table = db.create_table(LEASE_TABLE, pa.table(free), exist_ok=True)
        lease = cls(table, uri, LEASE_S if seconds is None else seconds)
        seen = lease._read()
        if seen["owner"] and seen["expires"] > time.time_ns():
            raise lease._taken(seen)
        if not lease._write(seen["owner"], seen["expires"]):
            raise lease._taken(lease._read())
        lease._thread.start()
        return lease

    def check(self) -> None:
        """Raise StoreInUse if another writer took over. If the lease has expired, renew it; this
        raises LanceDB's own errors if the store can't be reached."""
        monotonic, wall = self._valid_until
        # `monotonic` may stop while the machine is suspended; the wall clock can be set back.
        if time.monotonic() >= monotonic or time.time() >= wall:
            self._renew()

    def release(self) -> None:
        """Give the lease back. If this fails, the lease expires by itself."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        try:
            self._write(self._owner, None, owner="")
        except (RuntimeError, OSError, ValueError) as error:
            why = discreet(str(error))
            logger.warning("The lease of %s could not be given back: %s", self._uri, why)

    # -- inside ---------------------------------------------------------------------------------

    def _keep(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            try:
                self._renew()
            except StoreError:
                logger.warning("The lease of %s is lost", self._uri)
                return
            except (RuntimeError, OSError, ValueError) as error:
                why = discreet(str(error))
                logger.warning("The lease of %s could not be renewed: %s", self._uri, why)

    def _renew(self) -> None:
        with self._lock:
            if not self._write(self._owner, None):
                raise self._taken(self._read())
            self._renewals += 1
            if self._renewals % RENEWALS_KEPT == 0:
                self._table.optimize(cleanup_older_than=timedelta(seconds=self._seconds))

    def _write(
        self, owner_before: str, expires_before: int | None, owner: str | None = None
    ) -> bool:
        """Write an owner and a new expiry time to the row, on the condition that the row still has
        the given owner and expiry time. Returns whether the condition was met.

        Args:
            expires_before: the row's expected expiry time; None: any.
            owner: default: this lease's owner; empty: nobody.
        """
        from lancedb.expr import col, lit

        owner = self._owner if owner is None else owner
        where = col("owner") == lit(owner_before)
        if expires_before is not None:
            where = where & (col("expires") == lit(expires_before))
        until = (time.monotonic() + self._seconds, time.time() + self._seconds)
        row = {
            "owner": owner,
            "process": os.getpid(),
            "host": platform.node(),
            "expires": int(until[1] * 1e9) if owner else 0,
        }
        if self._table.update(where, row).rows_updated != 1:
            self._valid_until = (0.0, 0.0)
            return False
        self._valid_until = until if owner else (0.0, 0.0)
        return True

    def _read(self) -> dict[str, Any]:
        self._table.checkout_latest()
        found: list[dict[str, Any]] = self._table.search().limit(1).to_arrow().to_pylist()
        if not found:
            raise StoreError(
                f"The memory store {self._uri} is damaged: it doesn't say who may write to it.",
                mend=f"Close every assistant that uses it, then delete {LEASE_TABLE}.lance there;"
                " it is created again.",
            )
        return found[0]

    def _taken(self, seen: dict[str, Any]) -> StoreError:
        return _in_use(
            self._uri,
            f"process {seen['process']} on {seen['host']}",
            "Nothing to do: what is said here will be stored once the other assistant closes.",
        )


class OnlyReading:
    """The lock of a process that only reads a store, because another process writes to it.

    Args:
        refused: the error that names the writer.
    """

    def __init__(self, refused: StoreInUse) -> None:
        self.refused = refused

    def check(self) -> None:
        """Raise StoreInUse, because this process must not write."""
        raise self.refused

    def release(self) -> None:
        """Do nothing, because no lock is held."""


def _in_use(
    where: str,
    holder: str,
    mend: str = "Close the other assistant, or choose another folder with --home DIR.",
) -> StoreInUse:
    return StoreInUse(
        f"The memory store {where} is in use by another assistant ({holder}).", mend=mend
    )
