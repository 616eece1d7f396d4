"""Before anything is read: purges what is due, and what other machines that share the store have
forgotten."""

import logging
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from assistant.memory.forgetting.purge import purge, purge_locations
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.forgetting.verify import patterns_of
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript

logger = logging.getLogger(__name__)


def purge_due_at_start(
    transcript: Transcript,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    done: Callable[[HiddenItems, Receipt], object] = lambda _, __: None,
    on_gone: Callable[[str, Collection[str]], None] = lambda _user, _ids: None,
) -> Callable[[MemoryTable], None]:
    """Return a function that purges all users' due items; call it before anything is read into
    RAM.

    Args:
        done: called for each due item that was purged; not on the event loop.
        on_gone: called with a user and the ids of their exchanges that were forgotten elsewhere and
            existed here too.
    """

    def run(table: MemoryTable) -> None:
        for user in transcript.hiding() if table.refused is None else ():
            for hidden in transcript.hidden(user):
                if hidden.over(now()):
                    result = purge(hidden, transcript, table)
                    transcript.unhide(user, hidden.id)
                    done(hidden, result.receipt)
        for user in table.forgotten.users():
            if gone := _forgotten_elsewhere(user, table, transcript):
                on_gone(user, gone)

    return run


def _forgotten_elsewhere(user: str, table: MemoryTable, transcript: Transcript) -> set[str]:
    """From this transcript, purge the user's exchanges for which the store has tombstones; from the
    table, purge what a killed purge left. Returns the exchanges found in the transcript. Other
    users' data is never touched, even if it has a tombstone."""
    marks = table.forgotten.of(user)
    held = transcript.held(user, marks.exchanges)
    if table.refused is not None:  # another process writes to the table
        if held:
            patterns = patterns_of(transcript, user, held)
            purge_locations(transcript, Redaction.of(transcript, user, held, (), patterns))
            transcript.delete_exchanges(user, held)
        return held
    if not held and not marks.unfinished:
        return held
    covered = [each.id for each in in_order(table, user) if marks.covers(each)]
    exchanges = held | (marks.unfinished & marks.exchanges)
    logger.info("%d exchanges that were forgotten elsewhere are being forgotten here", len(held))
    purge(HiddenItems.of(user, exchanges, covered, datetime.now(UTC)), transcript, table)
    table.forgotten.finish(user, marks.unfinished)
    return held
