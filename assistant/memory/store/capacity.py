"""Warns once, before it happens, that the disk or the memory index is getting too full."""

import shutil
from collections.abc import Callable
from pathlib import Path

from assistant.events import Event, MemoriesRead, Notice, Severity, TurnEnded

LEAST_FREE = 500 * 2**20
"""Free bytes below which to warn. Compacting a store writes a second copy beside the old one."""
MOST_MEMORIES = 100_000
"""Maximum number of memories that can be searched within the deadline, as measured; half a gigabyte
of RAM."""
NEAR = 0.9


class CapacityWarnings:
    """Checks the disk and the number of memories after every turn.

    Args:
        folder: where the store is.
        count: returns the number of memories.
    """

    def __init__(
        self, folder: Path, count: Callable[[], int], emit: Callable[[Event], None]
    ) -> None:
        self._folder = folder
        self._count = count
        self._emit = emit
        self._told: set[str] = set()

    def watch(self, event: Event) -> None:
        if isinstance(event, MemoriesRead | TurnEnded):
            self._look_at_disk()
            self._look_at_count()

    def _look_at_disk(self) -> None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError:  # a broken folder is reported when it is written
            return
        if free < LEAST_FREE:
            self._tell(
                "disk",
                f"The disk is nearly full ({free // 2**20:,} MB free): soon nothing more can be"
                " remembered.",
                "Free some space.",
            )

    def _look_at_count(self) -> None:
        count = self._count()
        if count >= NEAR * MOST_MEMORIES:
            self._tell(
                "count",
                f"There are {count:,} memories; beyond {MOST_MEMORIES:,}, recall may be too slow"
                " and fall back to a word search.",
                "assistant memory forget ID…",
            )

    def _tell(self, what: str, text: str, mend: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._emit(Notice(text, Severity.WARNING, mend))
