"""What the methods of `MemoryAdmin` return."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assistant.context import Exchange
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.vectors.tiers import Tier


@dataclass(frozen=True, slots=True)
class Listed:
    """The newest memories of a kind, newest first, out of `total`."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory with the exchanges it is based on, its neighbours in the same conversation, and
    the memories it superseded or was superseded by."""

    memory: Memory
    exchanges: tuple[Exchange, ...]
    before: Memory | None
    after: Memory | None
    supersedes: tuple[Memory, ...]
    superseded_by: Memory | None
    expires: datetime | None
    """From its own date or the settings."""
    tier: Tier | None
    """None if no assistant is running."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts. `without_vector` is per encoder. `by_tier` is None unless an assistant is running,
    since tiers live in its RAM. `bytes_on_disk` covers the whole store, for all users; None if
    unknown."""

    total: int
    by_kind: Mapping[MemoryKind, int]
    pinned: int
    never_recalled: int
    without_vector: Mapping[str, int]
    by_tier: Mapping[Tier, int] | None
    exchanges: int
    bytes_on_disk: int | None
    store: str
    """Folder or address."""
