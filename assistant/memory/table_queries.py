"""What queries of the table are made of."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from assistant.memory.record import Memory

if TYPE_CHECKING:
    from lancedb.expr import Expr

SAID = [
    {"column_name": "created", "ascending": True, "nulls_first": False},
    {"column_name": "speaker", "ascending": False, "nulls_first": False},  # "user", "assistant"
    {"column_name": "id", "ascending": True, "nulls_first": False},
]
"""The order in which things were said."""


def condition(user_id: str, ids: Sequence[str] | None = None) -> "Expr":
    """Built as an expression: no text is ever pasted into a query."""
    from lancedb.expr import col, lit

    found = col("user_id") == lit(user_id)
    return found if ids is None else found & col("id").isin(ids)


def chunks(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def by_user(memories: Iterable[Memory]) -> dict[str, list[Memory]]:
    """One of each id, the last given."""
    users: dict[str, dict[str, Memory]] = {}
    for memory in memories:
        users.setdefault(memory.user_id, {})[memory.id] = memory
    return {user: list(those.values()) for user, those in users.items()}
