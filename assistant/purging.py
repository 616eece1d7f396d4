"""What is to be forgotten for good, taken out of every place that holds it."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial

from assistant.memory.desk import MemoryDesk
from assistant.memory.forgetting_marks import Hidden
from assistant.memory.long_term import LongTermMemory
from assistant.memory.proof import Receipt
from assistant.memory.recording_words import Gone
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript


def purger(
    user: str,
    transcript: Transcript,
    memory: LongTermMemory | None,
    open_table: Callable[[], MemoryTable] | None = None,
) -> Callable[[Hidden], Receipt | None]:
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

    def purge(hidden: Hidden) -> None:
        gone = Gone.told(transcript, user, hidden.exchanges, hidden.memories)
        transcript.recordings.purge(gone)
        transcript.forget(user, hidden.exchanges)

    return purge


def purged_first(
    transcript: Transcript, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[MemoryTable], None]:
    """For the start: purges what is due, whoever said so, from a table of which nothing is in RAM
    yet."""

    def purge(table: MemoryTable) -> None:
        for user in transcript.hiding():
            for hidden in transcript.hidden(user):
                if hidden.over(now()):
                    _purged(table, transcript, hidden)
                    transcript.show_again(user, hidden.id)

    return purge


def _from_running(
    user: str, transcript: Transcript, memory: LongTermMemory, hidden: Hidden
) -> Receipt:
    memory.written()  # what is on its way to the table would come after
    desk = MemoryDesk(user, memory.table, lambda: transcript, lambda: memory, memory=memory)
    receipt = desk.purge(hidden.exchanges, hidden.memories).receipt
    memory.index.purge()
    return receipt


def _from_disk(
    transcript: Transcript, open_table: Callable[[], MemoryTable], hidden: Hidden
) -> Receipt:
    with closing(open_table()) as table:
        return _purged(table, transcript, hidden)


def _purged(table: MemoryTable, transcript: Transcript, hidden: Hidden) -> Receipt:
    desk = MemoryDesk(hidden.user, table, lambda: transcript, _no_memory)
    return desk.purge(hidden.exchanges, hidden.memories).receipt


def _no_memory() -> LongTermMemory:
    raise AssertionError("nothing is recalled before it is purged")
