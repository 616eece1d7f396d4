"""Which memories are deleted together with an expired one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assistant.language.speakers import USER
from assistant.memory.records.memory import MemoryKind


@dataclass(frozen=True, slots=True)
class MemoryLinks:
    """The fields of a memory that tell whether it is based on others."""

    id: str
    kind: MemoryKind
    speaker: str
    sources: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: str | None
    pinned: bool


OUTLINE = ("id", "kind", "speaker", "sources", "supersedes", "superseded_by", "pinned")


def expiring_with(expired: Collection[str], all_of_them: Sequence[MemoryLinks]) -> set[str]:
    """The expired ones and what depends on them: memories derived only from the user's words in
    them, and what they had superseded, which would seem to hold again."""
    gone = set(expired)
    while True:
        dead = {
            source
            for each in all_of_them
            if each.id in gone and each.kind is MemoryKind.EXCHANGE and each.speaker == USER
            for source in each.sources
        }
        more = {
            each.id
            for each in all_of_them
            if each.id not in gone
            and not each.pinned
            and (each.superseded_by in gone or _derived_from(each, dead))
        }
        if not more:
            return gone
        gone |= more


def _derived_from(each: MemoryLinks, dead: Collection[str]) -> bool:
    return (
        each.kind is not MemoryKind.EXCHANGE
        and bool(each.sources)
        and set(each.sources) <= set(dead)
    )
