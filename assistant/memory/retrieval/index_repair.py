"""Has a failing index rebuilt."""

from collections.abc import Callable

from assistant.memory.retrieval.user_index import UserIndex


class IndexRepair:
    """Has an index rebuilt when a search in it fails. No further rebuild is started until a search
    has succeeded, because the new index may fail in the same way."""

    def __init__(self, mend: Callable[[UserIndex], object]) -> None:
        self._mend = mend
        self._tried = False

    def failed(self, index: UserIndex | None) -> None:
        if index is not None and not self._tried:
            self._tried = True
            self._mend(index)

    def worked(self) -> None:
        self._tried = False
