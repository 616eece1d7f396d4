"""Limits that a store comes near to are told before they are met, each once, in one sentence."""

import shutil
from collections.abc import Callable
from pathlib import Path

from assistant.events import Event, MemoriesRead, Notice, Severity, TurnEnded

LEAST_FREE = 500 * 2**20
"""Bytes. Compacting a store writes it anew, beside the old one."""
MOST_MEMORIES = 100_000
"""So many are searched within the deadline, as measured; half a gigabyte of RAM."""
NEAR = 0.9


class CapacityWarnings:
    """Listens to the event bus, where it looks at the disk and the count after every turn.

    Args:
        folder: where the store lies.
        count: how many memories there are.
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
        except OSError:  # what is wrong with the folder is told when it is written
            return
        if free < LEAST_FREE:
            self._tell(
                "disk",
                f"The disk is nearly full ({free // 2**20:,} MB are free): soon nothing more can"
                " be remembered.",
                "Free some space.",
            )

    def _look_at_count(self) -> None:
        count = self._count()
        if count >= NEAR * MOST_MEMORIES:
            self._tell(
                "count",
                f"There are {count:,} memories; beyond {MOST_MEMORIES:,} recall may come too late"
                " and go by words alone.",
                "assistant memory forget ID…",
            )

    def _tell(self, what: str, text: str, mend: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._emit(Notice(text, Severity.WARNING, mend))
