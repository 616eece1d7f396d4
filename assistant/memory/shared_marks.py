"""What must not come back, as all who share a store know it: ids of forgotten exchanges and
memories, no words. Pure; `marker_table` keeps them."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from assistant.memory.naming import BY_HAND, FACT, SUMMARY
from assistant.memory.profile import ADDRESS, NAME, WISH
from assistant.memory.record import ASSISTANT, USER, Kind, Memory
from assistant.memory.tellings import own_exchange

OURS = re.compile(r"[0-9a-f]{32}")
"""Ids that this program gives are random, and say nothing."""
PART = re.compile(
    rf"(?P<of>.+)(?P<which>-(?:{USER}|{ASSISTANT}|{NAME}|{ADDRESS}|\d{{1,6}}-{WISH}"
    rf"|(?:{FACT}|{SUMMARY})\d{{1,6}}))",
    re.DOTALL,
)
"""What it makes of an exchange or a conversation is named after that, with who spoke, or what it is
and a number."""
MARK = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")


def mark_of(key: str) -> str:
    """An id as it may be kept for good: one that came with an import could hold words."""
    return key if OURS.fullmatch(key) else sha256(key.encode("utf-8", "replace")).hexdigest()


def renamed(memory: Memory, name: Callable[[str], str]) -> Memory:
    """The memory under ids that say nothing, and so are those that it refers to.

    Args:
        name: what an id that this program did not give is to be called; always the same.
    """

    def anew(key: str) -> str:
        part = PART.fullmatch(key)
        whole, which = (part["of"], part["which"]) if part is not None else (key, "")
        ours = whole in ("", BY_HAND) or OURS.fullmatch(whole) is not None
        return key if ours else f"{name(whole)}{which}"

    by = memory.superseded_by
    return replace(
        memory,
        id=anew(memory.id),
        conversation=anew(memory.conversation),
        sources=tuple(map(anew, memory.sources)),
        supersedes=tuple(map(anew, memory.supersedes)),
        superseded_by=anew(by) if by is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """Of one user. `unfinished` are those of both whose rows may still be in the table: who wrote
    them had not told yet that they are gone."""

    exchanges: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.exchanges) + len(self.memories)

    def covers(self, memory: Memory) -> bool:
        """Whether it was forgotten: it, what it quotes, or all that it rests on; of a summary, any
        of that."""
        own = own_exchange(memory)
        if own is not None and self._was_said(own):
            return True
        gone = any if memory.kind is Kind.SUMMARY else all
        if memory.sources and gone(map(self._was_said, memory.sources)):
            return True
        return mark_of(memory.id) in self.memories

    def kept(self, memory: Memory) -> Memory | None:
        """The memory without what was forgotten of its sources; None where nothing is left of it.

        Of words that were told elsewhere too, that telling has a memory of its own.
        """
        if self.covers(memory):
            return None
        sources = tuple(source for source in memory.sources if not self._was_said(source))
        return memory if len(sources) == len(memory.sources) else replace(memory, sources=sources)

    def _was_said(self, exchange: str) -> bool:
        return mark_of(exchange) in self.exchanges


def to_mark(exchanges: Collection[str], gone: Iterable[Memory]) -> tuple[set[str], set[str]]:
    """The marks of exchanges and of memories that go with them; of the latter those that do not
    follow from the former."""
    said = frozenset(map(mark_of, exchanges))
    follow = Marks(said)
    return set(said), {mark_of(memory.id) for memory in gone if not follow.covers(memory)}
