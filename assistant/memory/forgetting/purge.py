"""The last steps of a purge: no file holds what was deleted, and that was looked for."""

import time
from dataclasses import replace

from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.verify import verify_gone
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript

GONE_BEFORE = (
    "The words were gone already, by a purge that was interrupted: they could not be looked for."
    " The stores were written anew."
)
BREATH_S = 0.001
"""Between two pieces of a search, so that the voice's thread is never waited for long."""


def receipt_of(
    needles: SearchPatterns,
    table: MemoryTable,
    transcript: Transcript,
    exchanges: int,
    memories: int,
) -> Receipt:
    """Look for it everywhere, and keep what came of that.

    Raises:
        StoreError: something can't be read, or the receipt can't be written.
    """
    receipt = verify_gone(
        needles,
        table,
        transcript,
        exchanges=exchanges,
        memories=memories,
        breathe=lambda: time.sleep(BREATH_S),
    )
    if not (needles or needles.common or needles.short):
        receipt = replace(receipt, unprovable=(*receipt.unprovable, GONE_BEFORE))
    receipts.keep(transcript.path.parent, receipt)
    return receipt
