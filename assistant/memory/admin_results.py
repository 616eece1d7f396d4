"""What a memory desk answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assistant.context import Exchange
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.vectors.tiers import Tier


@dataclass(frozen=True, slots=True)
class Listed:
    """The newest memories of a kind, newest first, of `total`."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory, the exchanges it rests on, what was said just before and after it in the same
    conversation, and what it replaced or was replaced by."""

    memory: Memory
    exchanges: tuple[Exchange, ...]
    before: Memory | None
    after: Memory | None
    supersedes: tuple[Memory, ...]
    superseded_by: Memory | None
    expires: datetime | None
    """By its own date or by the settings."""
    tier: Tier | None
    """None where no assistant runs."""


@dataclass(frozen=True, slots=True)
class Stats:
    """`without_vector` is by encoder; `by_tier` is None where no assistant runs: tiers are of its
    RAM. `bytes_on_disk` is of the whole store, all users' together;
    None where that can't be known."""

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
