"""How long a deletion can still be undone, on one line."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ui.text.forgetting import what


def countdown(pending: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """The line; empty if nothing is being forgotten.

    Args:
        pending: the rows of the request `pending`, oldest first.
    """
    if not pending:
        return ""
    left = [(each, (datetime.fromisoformat(each["due"]) - now).total_seconds()) for each in pending]
    last, seconds = left[-1]
    if seconds <= 0:
        return f"Forgotten: {what(last)}; being deleted now"
    count = len(last["memories"]) + len(last["exchanges"])
    them = "it" if count == 1 else "them"
    more = sum(1 for _, each in left[:-1] if each > 0)
    before = f" ({more} more waiting)" if more else ""
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"Forgotten: {what(last)}; gone for good in {time}, u brings {them} back{before}"
