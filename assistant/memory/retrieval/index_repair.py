"""Requests a rebuild of a failing index."""

from collections.abc import Callable

from assistant.memory.retrieval.user_index import UserIndex


class IndexRepair:
    """Requests a rebuild of an index when a search in it fails. No further rebuild is requested
    until a search has succeeded, because the new index may fail in the same way."""

    def __init__(self, mend: Callable[[UserIndex], object]) -> None:
        self._mend = mend
        self._tried = False

    def failed(self, index: UserIndex | None) -> None:
        if index is not None and not self._tried:
            self._tried = True
            self._mend(index)

    def worked(self) -> None:
        self._tried = False
