"""The last steps of a purge: no file holds what was deleted, and that was looked for."""

import time
from dataclasses import replace

from assistant.errors import StoreError
from assistant.memory import receipts
from assistant.memory.needles import Needles
from assistant.memory.proof import Receipt, prove
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript

REWRITES = 5
"""Each waits two seconds for a moment in which nobody reads."""
GONE_BEFORE = (
    "The words were gone already, by a purge that was interrupted: they could not be looked for."
    " The stores were written anew."
)
BREATH_S = 0.001
"""Between two pieces of a search, so that the voice's thread is never waited for long."""


def rewrite(table: MemoryTable) -> None:
    """Leave one version of the table, without what was deleted.

    Raises:
        StoreError: it could not be written, or somebody read all along. It can be called again.
    """
    for _ in range(REWRITES):
        if table.rewrite():
            return
    raise StoreError(
        "What was forgotten is out of the memory, but older versions of it are being read.",
        mend="It is tried again; or later: assistant memory verify-forgotten --clean",
    )


def receipt_of(
    needles: Needles, table: MemoryTable, transcript: Transcript, exchanges: int, memories: int
) -> Receipt:
    """Look for it everywhere, and keep what came of that.

    Raises:
        StoreError: something can't be read, or the receipt can't be written.
    """
    receipt = prove(
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
