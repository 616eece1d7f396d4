"""Deletes items from every place that contains them, then searches for traces of them.

The order matters. Recordings are purged first, while the transcript still knows which turns they
contain. They are purged again at the end, because a turn in progress may have added to them.
Tombstones are written before the first row is deleted, and marked as finished once no file contains
the rows any more. If the process is killed in between, the unfinished tombstones show the next
process that the purge must be completed. A purge can be repeated from the beginning at any time.
"""

import logging
import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.facts import same_words
from assistant.memory.curation.materialize import is_derived_note, materialize_exchange
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.cascade import Cascade, cascade
from assistant.memory.forgetting.receipts import PurgeResult, Receipt
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.forgetting.verify import patterns_of, verify_gone
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.ids import origin_of
from assistant.memory.store.maintenance import in_order, rewrite
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import Tombstones
from assistant.memory.transcript import fact_rows, recall_log, state_rows
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

logger = logging.getLogger(__name__)

GONE_BEFORE = (
    "The words were already deleted by an interrupted purge, so they could not be searched for."
    " The stores were rewritten."
)
BREATH_S = 0.001
"""Pause in seconds between two pieces of a search, so that the voice thread never waits long."""


def purge(
    items: HiddenItems,
    transcript: Transcript,
    table: MemoryTable | None,
    memory: UserMemory | None = None,
) -> PurgeResult:
    """Delete items for good. Blocks for some seconds. Items that no longer exist are ignored.

    Args:
        table: None if there are no memories.
        memory: the user's long-term memory, if it is loaded. It is then purged in RAM too.

    Raises:
        StoreError: something could not be read or written. Call the function again later.
    """
    if memory is not None:
        memory.written()  # otherwise, pending writes would reach the table after the purge
    user, going = items.user, frozenset(items.exchanges)
    rows = in_order(table, user) if table is not None else []
    plan = cascade(transcript, user, {each.id: each for each in rows}, items.memories, going)
    deleted, changed = ([each.id for each in part] for part in (plan.deleted, plan.changed))
    entries = state_rows.held(transcript, user, items.memories)  # not in the table of memories
    every = {*deleted, *items.memories}
    patterns = patterns_of(transcript, user, going, table, every, changed)
    words = Redaction.of(transcript, user, going, every, patterns)
    _purge_locations(transcript, words)
    marks = table.forgotten.during(user, going, plan.deleted) if table is not None else None
    with marks or nullcontext():
        missing = set(items.memories).difference(each.id for each in rows)
        recalled = missing.union(each.id for each in plan.deleted)
        forgotten = Tombstones() if table is None else table.forgotten.of(user)
        logged = recall_log.remove(
            transcript,
            user,
            lambda key: key in recalled or origin_of(key) in going or forgotten.has(key),
        )
        if going:
            transcript.delete_exchanges(user, going)  # rewrites the file
        _suppress(transcript, user, plan, going)
        if (recalled or logged) and not going:
            transcript.rewrite()
        if table is not None:
            _delete(user, plan, table, memory)
    _purge_locations(transcript, words)
    receipt = verify_gone(
        patterns,
        transcript,
        table,
        exchanges=len(going),
        memories=len(plan.ids) + len(entries),
        breathe=lambda: time.sleep(BREATH_S),
    )
    if not (patterns or patterns.common or patterns.short):
        receipt = replace(receipt, unprovable=(*receipt.unprovable, GONE_BEFORE))
    receipts.keep(transcript.path.parent, receipt)
    return PurgeResult((*plan.ids, *entries), tuple(sorted(going)), plan.staying, receipt)


def purge_due_at_start(
    transcript: Transcript,
    table: MemoryTable,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    done: Callable[[HiddenItems, Receipt], object] = lambda _, __: None,
    on_gone: Callable[[str, Collection[str]], None] = lambda _user, _ids: None,
) -> None:
    """Purge all users' items whose grace period is over, and items that were forgotten on other
    machines that share the store.

    Call this before anything is read into RAM.

    Args:
        done: called after each purge of items whose grace period was over. Not called on the event
            loop.
        on_gone: called with a user and the ids of that user's exchanges that were forgotten on
            another machine and are now deleted here.
    """
    for user in transcript.hiding() if table.refused is None else ():
        for hidden in transcript.hidden(user):
            if hidden.over(now()):
                result = purge(hidden, transcript, table)
                transcript.unhide(user, hidden.id)
                done(hidden, result.receipt)
    for user in table.forgotten.users():
        if gone := _purge_forgotten_elsewhere(user, table, transcript):
            on_gone(user, gone)


# -- inside -------------------------------------------------------------------------------------


def _purge_forgotten_elsewhere(user: str, table: MemoryTable, transcript: Transcript) -> set[str]:
    """Delete the user's exchanges that another machine has forgotten, i.e. that have tombstones.
    Remove everything that has a tombstone from the log of recalls.

    Also completes an interrupted purge of the table. Returns the ids of the deleted exchanges.
    Other users' data is never touched, even if it has a tombstone.
    """
    marks = table.forgotten.of(user)
    held = transcript.held(user, marks.exchanges)
    if recall_log.remove(transcript, user, marks.has):
        transcript.rewrite()
    if table.refused is not None:  # another process writes to the table
        if held:
            patterns = patterns_of(transcript, user, held)
            _purge_locations(transcript, Redaction.of(transcript, user, held, (), patterns))
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


def _purge_locations(transcript: Transcript, words: Redaction) -> None:
    """Delete the words from all locations except the transcript and the memories.

    Raises:
        StoreError: a location could not be purged.
    """
    for location in tuple(transcript.locations):
        location.purge(words)


def _suppress(transcript: Transcript, user: str, plan: Cascade, going: Collection[str]) -> None:
    """Make sure that no deleted fact, summary, name or wish is derived again from the remaining
    exchanges."""
    notes = {(each.kind, each.text) for each in plan.named if is_derived_note(each)}
    sources = {key for each in plan.named if is_derived_note(each) for key in each.sources}
    if sources.difference(going):
        again = [
            (exchange.id, each.id)
            for conversation, exchange in transcript.exchanges(user, sources.difference(going))
            for each in materialize_exchange(user, conversation, exchange)
            if (each.kind, each.text) in notes
        ]
        transcript.note_expired(user, again, datetime.now(UTC))
    lexicon = TextAnalyzer("en")  # facts are only derived in English
    fact_rows.suppress(
        transcript, user, plan.named, lambda a, b: a == b or same_words(a, b, lexicon)
    )
    fact_rows.delete_derived(
        transcript, user, fact_rows.told_elsewhere(plan.deleted, plan.named, going)
    )


def _delete(user: str, plan: Cascade, table: MemoryTable, memory: UserMemory | None) -> None:
    if memory is not None:
        if plan.changed:
            memory.put(plan.changed)
        memory.delete(plan.deleted)
        memory.index.purge()
    else:
        table.put(plan.changed)
        table.delete(user, [each.id for each in plan.deleted])
    rewrite(table)
