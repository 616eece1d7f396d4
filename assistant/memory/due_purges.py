"""What is to be forgotten for good, taken out of every place that holds it."""

import logging
from collections.abc import Callable, Collection
from contextlib import closing
from datetime import UTC, datetime
from functools import partial

from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

logger = logging.getLogger(__name__)


def make_purger(
    user: str,
    transcript: Transcript,
    memory: UserMemory | None,
    open_table: Callable[[], MemoryTable] | None = None,
) -> Callable[[HiddenItems], Receipt | None]:
    """Removes it from the transcript, the table, the indexes and the caches, and looks for it
    everywhere then. Blocking; raises StoreError, and can be called again then.

    Args:
        memory: loaded; None where nothing is remembered beyond the conversation.
        open_table: opens memories of earlier sessions then, where there are any.
    """

    if memory is not None:
        return partial(_from_running, user, transcript, memory)
    if open_table is not None:
        return partial(_from_disk, transcript, open_table)

    def purge(hidden: HiddenItems) -> None:
        gone = Redaction.told(transcript, user, hidden.exchanges, hidden.memories)
        transcript.recordings.purge(gone)
        transcript.forget(user, hidden.exchanges)

    return purge


def purge_due_at_start(
    transcript: Transcript,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    done: Callable[[HiddenItems, Receipt], object] = lambda _, __: None,
    on_gone: Callable[[str, Collection[str]], None] = lambda _user, _ids: None,
) -> Callable[[MemoryTable], None]:
    """For the start: purges what is due, whoever said so, and what was forgotten on other machines
    that share the table, of which nothing is in RAM yet.

    Args:
        done: told of what was due; not on the event loop.
        on_gone: told whose exchanges, and which, were forgotten elsewhere and were here too.
    """

    def purge(table: MemoryTable) -> None:
        for user in transcript.hiding() if table.refused is None else ():
            for hidden in transcript.hidden(user):
                if hidden.over(now()):
                    receipt = _purged(table, transcript, hidden)
                    transcript.show_again(user, hidden.id)
                    done(hidden, receipt)
        for user in table.forgotten.users():
            if gone := _forgotten_elsewhere(user, table, transcript):
                on_gone(user, gone)

    return purge


def _from_running(
    user: str, transcript: Transcript, memory: UserMemory, hidden: HiddenItems
) -> Receipt:
    memory.written()  # what is on its way to the table would come after
    desk = MemoryAdmin(user, memory.table, lambda: transcript, lambda: memory, memory=memory)
    return desk.purge(hidden.exchanges, hidden.memories).receipt


def _from_disk(
    transcript: Transcript, open_table: Callable[[], MemoryTable], hidden: HiddenItems
) -> Receipt:
    with closing(open_table()) as table:
        return _purged(table, transcript, hidden)


def _forgotten_elsewhere(user: str, table: MemoryTable, transcript: Transcript) -> set[str]:
    """The user's exchanges that the store marks are purged from this transcript, and what a purge
    that was killed left in the table from there; returns what the transcript had. That of others is
    never touched, whatever is marked."""
    marks = table.forgotten.of(user)
    held = transcript.held(user, marks.exchanges)
    if table.refused is not None:  # the table is the other's to write
        if held:
            transcript.recordings.purge(Redaction.told(transcript, user, held))
            transcript.forget(user, held)
        return held
    if not held and not marks.unfinished:
        return held
    covered = [each for each in in_order(table, user) if marks.covers(each)]
    exchanges = held | (marks.unfinished & marks.exchanges)
    logger.info("%d exchanges that were forgotten elsewhere are forgotten here", len(held))
    _purged(
        table,
        transcript,
        HiddenItems.of(user, exchanges, (m.id for m in covered), datetime.now(UTC)),
    )
    table.forgotten.finish(user, marks.unfinished)
    return held


def _purged(table: MemoryTable, transcript: Transcript, hidden: HiddenItems) -> Receipt:
    desk = MemoryAdmin(hidden.user, table, lambda: transcript, _no_memory)
    return desk.purge(hidden.exchanges, hidden.memories).receipt


def _no_memory() -> UserMemory:
    raise AssertionError("nothing is recalled before it is purged")
