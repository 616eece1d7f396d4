"""Warns the user once when the disk is nearly full, and once when there are nearly too many
memories."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from assistant.events import Event, MemoriesRead, Notice, Severity, TurnEnded

LEAST_FREE = 500 * 2**20
"""Number of free bytes below which the user is warned. Compacting a store writes a second copy of
it before the first is deleted."""
MOST_MEMORIES = 100_000
"""Maximum number of memories that can be searched within recall's deadline, as measured. They take
half a gigabyte of RAM."""
NEAR = 0.9
"""Fraction of `MOST_MEMORIES` above which the user is warned."""


class CapacityWarnings:
    """Checks the free disk space and the number of memories after every turn.

    Args:
        folder: a folder on the disk that holds the store.
        count: returns the number of memories.
    """

    def __init__(
        self, folder: Path, count: Callable[[], int], emit: Callable[[Event], None]
    ) -> None:
        self._folder = folder
        self._count = count
        self._emit = emit
        self._warned: set[str] = set()

    def watch(self, event: Event) -> None:
        if not isinstance(event, MemoriesRead | TurnEnded):
            return
        with suppress(OSError):  # a broken folder is reported when it is written
            free = shutil.disk_usage(self._folder).free
            if free < LEAST_FREE:
                self._warn(
                    "disk",
                    f"The disk is nearly full ({free // 2**20:,} MB free): soon nothing more can be"
                    " remembered.",
                    "Free some space.",
                )
        count = self._count()
        if count >= NEAR * MOST_MEMORIES:
            self._warn(
                "count",
                f"There are {count:,} memories; beyond {MOST_MEMORIES:,}, recall may be too slow"
                " and fall back to a word search.",
                "assistant memory forget ID…",
            )

    def _warn(self, what: str, text: str, mend: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self._emit(Notice(text, Severity.WARNING, mend))
