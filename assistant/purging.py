"""What is to be forgotten for good, taken out of every place that holds it."""

from collections.abc import Callable
from datetime import datetime

from assistant.memory.desk import MemoryDesk
from assistant.memory.forgetting_marks import Hidden
from assistant.memory.long_term import LongTermMemory
from assistant.memory.proof import Receipt
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript


def purger(
    user: str, transcript: Transcript, memory: LongTermMemory | None
) -> Callable[[Hidden], Receipt | None]:
    """Removes it from the transcript, the table, the indexes and the caches, and looks for it
    everywhere then. Blocking; raises StoreError, and can be called again then.

    Args:
        memory: loaded; None where nothing is remembered beyond the conversation.
    """

    def purge(hidden: Hidden) -> Receipt | None:
        if memory is None:
            transcript.forget(user, hidden.exchanges)
            return None
        running = memory
        desk = MemoryDesk(user, running.table, lambda: transcript, lambda: running, memory=running)
        receipt = desk.purge(hidden.exchanges, hidden.memories).receipt
        running.index.purge()
        return receipt

    return purge


def purged_first(
    user: str, transcript: Transcript, now: Callable[[], datetime]
) -> Callable[[MemoryTable], None]:
    """For the start: purges what is due from a table of which nothing is in RAM yet."""

    def purge(table: MemoryTable) -> None:
        for hidden in transcript.hidden(user):
            if hidden.over(now()):
                desk = MemoryDesk(user, table, lambda: transcript, _no_memory)
                desk.purge(hidden.exchanges, hidden.memories)
                transcript.show_again(user, hidden.id)

    return purge


def _no_memory() -> LongTermMemory:
    raise AssertionError("nothing is recalled before it is purged")
