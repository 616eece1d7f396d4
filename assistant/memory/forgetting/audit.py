"""Checks whether traces of forgotten items are left in the stores.

Also searches for texts that the user remembers having said.

Between two purges, additions and changes leave older versions in the table, and a log and free
pages in the transcript. Such leftovers don't count as traces; the report only lists them among the
things that can't be proved. With `clean`, they are removed before the search. Only real evidence
counts as a trace, e.g. a removed memory in an older version, an unknown file, or one of the texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assistant.errors import StoreError
from assistant.memory.forgetting import data_inventory
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.verify import verify_gone, what_cannot_be_proved
from assistant.memory.store.open_table import folder_of
from assistant.memory.store.rewrite import Layout
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import FreePages, Transcript
from assistant.paths import Home


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit.

    `removed` counts memories in older versions that are missing from the newest version or have
    different words there. `unknown` are files that don't belong to this program. `strange` counts
    malformed tombstones. `unfinished` is True if a purge was interrupted and not yet completed.
    """

    layout: Layout
    pages: FreePages
    removed: int
    unknown: tuple[str, ...]
    strange: int
    unfinished: bool
    receipt: Receipt

    @property
    def found(self) -> tuple[str, ...]:
        """One sentence for each trace that was found. The sentences contain no user text."""
        return tuple(self._found())

    @property
    def unprovable(self) -> tuple[str, ...]:
        return (*self._unsettled(), *self.receipt.unprovable)

    def as_json(self) -> dict[str, Any]:
        return {
            "clean": not self.found,
            "found": list(self.found),
            "unprovable": list(self.unprovable),
            "versions": self.layout.versions,
            "removed": self.removed,
            "free_pages": self.pages.free,
            "log_bytes": self.pages.log,
            "unknown_files": list(self.unknown),
            "searched": self.receipt.as_json()["searched"],
            "files": self.receipt.files,
            "bytes": self.receipt.bytes,
            "at": self.receipt.at.astimezone(UTC).isoformat(timespec="seconds"),
        }

    def _found(self) -> Iterator[str]:
        if self.removed:
            what = (
                "1 memory that was" if self.removed == 1 else f"{self.removed:,} memories that were"
            )
            yield f"An older version of the memories still contains {what} removed or changed."
        for name in self.unknown:
            yield f"The file {name} does not belong to this program, so its contents are unknown."
        if self.strange:
            yield "The list of what was forgotten contains an invalid entry."
        if self.unfinished:
            yield "Something that you asked to be forgotten is not completely removed yet."
        for searched in self.receipt.searched:
            for place in searched.found:
                yield f"A text was found in {place}."

    def _unsettled(self) -> Iterator[str]:
        if self.layout.versions > 1 or self.layout.spare:
            yield (
                "The memories have changed since they were last rewritten; older versions"
                f" left: {self.layout.versions - 1:,}."
            )
        if self.pages.free or self.pages.log:
            yield (
                "The transcript may still contain deleted text, in its free pages"
                f" ({self.pages.free:,}) or its log ({self.pages.log:,} bytes)."
            )


def audit(
    table: MemoryTable, transcript: Transcript, texts: Sequence[str] = (), *, clean: bool = False
) -> AuditReport:
    """Check the stores for traces of forgotten items. Blocks for some seconds.

    Args:
        texts: texts to search for.
        clean: whether to rewrite both stores first, so that no older versions remain.

    Raises:
        StoreError: something can't be read or, with `clean`, written.
    """
    if clean:
        if not table.rewrite():
            raise StoreError(
                f"The memory store {table.uri} can't be rewritten, because it is being read.",
                mend="Try again in a moment.",
            )
        transcript.rewrite()
    home = Home(transcript.path.parent)
    unknown = tuple(
        path.relative_to(home.root).as_posix() if path.is_relative_to(home.root) else str(path)
        for path, owner in data_inventory.files(home, folder_of(table.uri))
        if owner is None
    )
    patterns = SearchPatterns.of(texts, any_case=True)
    if patterns:
        receipt = verify_gone(patterns, transcript, table)
    else:
        unprovable = tuple(what_cannot_be_proved(transcript, table, patterns))
        receipt = Receipt(datetime.now(UTC), 0, 0, (), unprovable)
    return AuditReport(
        table.layout(),
        transcript.pages(),
        _removed(table),
        unknown,
        table.forgotten.strange(),
        table.forgotten.unfinished,
        receipt,
    )


def _removed(table: MemoryTable) -> int:
    """Count the memories in older versions that are missing from the newest version or have
    different words there.
    """
    newest: int | None = None
    there: set[tuple[str, ...]] = set()
    gone: set[tuple[str, ...]] = set()
    for version, batch in table.versions():
        names = ("user_id", "id", "text", "context")
        rows = set(zip(*map(batch.values, names), strict=True))
        newest = version if newest is None else newest
        if version == newest:
            there |= rows
        else:
            gone |= rows - there
    return len({row[:2] for row in gone})
