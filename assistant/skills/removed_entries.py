"""Keeps what a skill has removed from the user's state, so that it can be brought back."""

from collections.abc import Callable, Collection, Sequence
from uuid import uuid4

from assistant.events import Event, ForgettingBegan, ForgettingDone
from assistant.state import Entry, StateStore

MOST = 20
"""Number of removals that are kept. Older ones can't be undone."""


class RemovedEntries:
    """Removes entries and restores them. Thread-safe; `remove` and `restore` block.

    When the user asks to forget anything, and again when that is purged, everything kept here is
    dropped: it may contain what was forgotten, and the purge doesn't search here.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._kept: dict[str, Sequence[Entry]] = {}

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, ForgettingBegan | ForgettingDone):
            self._kept.clear()

    def remove(self, keys: Collection[str], *, if_empty: bool = False) -> tuple[str, list[Entry]]:
        """Remove entries. Return the key of the removal, and what was removed, oldest first.

        Args:
            if_empty: as for `StateStore.remove`.

        Raises:
            StoreError: nothing was removed.
        """
        removed = self._store.remove(keys, if_empty=if_empty)
        gone = sorted(removed, key=lambda entry: entry.created)
        removal = uuid4().hex
        if gone:
            self._kept[removal] = gone
        for old in list(self._kept)[:-MOST]:
            self._kept.pop(old, None)
        return removal, gone

    def kept(self, removal: str) -> Sequence[Entry]:
        """Return the removed entries that can still be restored."""
        return self._kept.get(removal, ())

    def restore(
        self, removal: str, edit: Callable[[Entry], Entry | None] = lambda entry: entry
    ) -> Sequence[Entry]:
        """Restore what was removed, except for entries whose parent is gone. Return what was
        restored.

        Args:
            edit: returns the entry in the form in which to restore it, or None to leave it removed.

        Raises:
            StoreError: nothing was restored.
        """
        kept = self.kept(removal)
        own = {each.id for each in kept}
        back = [
            edited
            for each in kept
            if (edited := edit(each)) is not None
            if not each.parent or each.parent in own or self._store.get(each.parent)
        ]
        if back:
            self._store.restore(back)
        self._kept.pop(removal, None)
        return back
