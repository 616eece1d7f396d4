"""The purge: deletes what is to be forgotten from every place that contains it, then searches for
it.

The order matters. Recordings come first, while the transcript still knows which turns they contain,
and once more at the end, since a turn in progress may have added to them. Tombstones are written
before the first row is deleted, and finished when no file contains it: they tell whoever opens the
store next that a purge was killed. A purge can be repeated from the beginning at any time.
"""

import time
from collections.abc import Callable, Collection
from contextlib import closing, nullcontext
from dataclasses import replace

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.fact_equivalence import same_words
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.cascade import Cascade, cascade
from assistant.memory.forgetting.receipts import PurgeResult
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.forgetting.verify import patterns_of, verify_gone
from assistant.memory.records.data_location import RemovesWords
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.store.maintenance import in_order, rewrite
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

GONE_BEFORE = (
    "The words were already deleted by an interrupted purge, so they could not be searched for."
    " The stores were rewritten."
)
BREATH_S = 0.001
"""Seconds between two pieces of a search, so that the voice's thread never waits long."""

Purge = Callable[[HiddenItems], PurgeResult]


def make_purge(
    transcript: Transcript,
    memory: UserMemory | None = None,
    open_table: Callable[[], MemoryTable] | None = None,
) -> Purge:
    """A purge for callers without open stores.

    Args:
        memory: the user's long-term memory, loaded; None if nothing is remembered beyond the
            conversation.
        open_table: in that case, opens memories of earlier sessions, if there are any.
    """

    def run(items: HiddenItems) -> PurgeResult:
        if memory is not None:
            return purge(items, transcript, memory.table, memory)
        if open_table is None:
            return purge(items, transcript, None)
        with closing(open_table()) as table:
            return purge(items, transcript, table)

    return run


def purge(
    items: HiddenItems,
    transcript: Transcript,
    table: MemoryTable | None,
    memory: UserMemory | None = None,
) -> PurgeResult:
    """Purge items. Blocking, for some seconds. Items that no longer exist are fine.

    Args:
        table: None if there are no memories.
        memory: the user's, if loaded: RAM and table then change together through it.

    Raises:
        StoreError: something could not be read or written; call it again later.
    """
    if memory is not None:
        memory.written()  # pending writes would reach the table afterwards
    user, going = items.user, frozenset(items.exchanges)
    rows = in_order(table, user) if table is not None else []
    plan = cascade(transcript, user, {each.id: each for each in rows}, items.memories, going)
    deleted, changed = ([each.id for each in part] for part in (plan.deleted, plan.changed))
    patterns = patterns_of(transcript, user, going, table, deleted, changed)
    words = Redaction.of(transcript, user, going, deleted, patterns)
    purge_locations(transcript, words)
    marks = table.forgotten.during(user, going, plan.deleted) if table is not None else None
    with marks or nullcontext():
        if going:
            transcript.delete_exchanges(user, going)
        _suppress(transcript, user, plan, going)
        if table is not None:
            _delete(user, plan, table, memory)
    purge_locations(transcript, words)
    receipt = verify_gone(
        patterns,
        transcript,
        table,
        exchanges=len(going),
        memories=len(plan.ids),
        breathe=lambda: time.sleep(BREATH_S),
    )
    if not (patterns or patterns.common or patterns.short):
        receipt = replace(receipt, unprovable=(*receipt.unprovable, GONE_BEFORE))
    receipts.keep(transcript.path.parent, receipt)
    sources = {source for each in plan.named for source in each.sources} - {ADDED_BY_USER}
    return PurgeResult(plan.ids, tuple(sorted(going)), tuple(sorted(sources - going)), receipt)


def purge_locations(transcript: Transcript, words: RemovesWords) -> None:
    """Purge what contains words beside the transcript and the memories. Raises StoreError."""
    for location in transcript.locations:
        location.purge(words)


# -- inside -------------------------------------------------------------------------------------


def _suppress(transcript: Transcript, user: str, plan: Cascade, going: Collection[str]) -> None:
    """Make sure that no deleted fact or summary is derived again from what stays."""
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
