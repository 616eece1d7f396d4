"""What becomes of an index that fails."""

from collections.abc import Callable

from assistant.memory.retrieval.user_index import UserIndex


class IndexRepair:
    """Has an index that fails made anew: once, until a search succeeds again, since another one may
    fail in the same way."""

    def __init__(self, mend: Callable[[UserIndex], object]) -> None:
        self._mend = mend
        self._tried = False

    def failed(self, index: UserIndex | None) -> None:
        if index is not None and not self._tried:
            self._tried = True
            self._mend(index)

    def worked(self) -> None:
        self._tried = False
