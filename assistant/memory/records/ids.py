"""Ids of memories, and how a person names one: by its id, or by the beginning of it."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from assistant.errors import SettingsError, StoreError
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.memory import Memory, MemoryKind

WISH = "wish"
"""Suffix of memories derived from lasting wishes."""
ADDED_BY_USER = "you"
"""Replaces an exchange's id in the `sources` of a memory that the user wrote."""
FACT = "fact"
"""Suffix of facts; a number follows."""
SUMMARY = "summary"
"""Suffix of summaries; the number of the first turn follows."""
LEAST_PREFIX = 6
"""Minimum number of characters of an id that name a memory."""
NAMED_AT_ONCE = 4
"""Maximum number of matching ids that a message lists."""

OURS = re.compile(r"[0-9a-f]{32}")
"""Ids made by this program: random, so they reveal nothing."""
FACT_ID = re.compile(rf"(?P<exchange>.+)-{FACT}(?P<number>\d+)")
SUMMARY_ID = re.compile(rf"(?P<conversation>.+)-{SUMMARY}(?P<first>\d+)")
PART = re.compile(
    rf"(?P<of>.+)(?P<which>-(?:{USER}|{ASSISTANT}|{NAME}|{ADDRESS}|\d{{1,6}}-{WISH}"
    rf"|(?:{FACT}|{SUMMARY})\d{{1,6}}))",
    re.DOTALL,
)
"""Derived ids begin with the id of an exchange or a conversation; a suffix gives the speaker, or
the kind and a number."""


def telling(exchange: str, speaker: str) -> str:
    """The id of one speaker's turn in an exchange."""
    return f"{exchange}-{speaker}"


def own_exchange(memory: Memory) -> str | None:
    """The exchange that a verbatim memory quotes; None for other kinds."""
    suffix = telling("", memory.speaker)
    if memory.kind is not MemoryKind.EXCHANGE or not memory.id.endswith(suffix):
        return None
    return memory.id.removesuffix(suffix)


def repeated(memory: Memory) -> tuple[str, ...]:
    """The other exchanges in which the same words as in a verbatim memory were said."""
    own = own_exchange(memory)
    return tuple(source for source in memory.sources if source != own) if own is not None else ()


def merged_ids(memories: Iterable[Memory]) -> set[str]:
    """Ids of turns without a memory of their own, because another one stands for them."""
    return {telling(each, memory.speaker) for memory in memories for each in repeated(memory)}


def short(key: str, length: int = 8) -> str:
    """The beginning of an id, enough to name it: `1f0c9a2b`; `1f0c9a2b-u` and `-a` for the
    user's and the assistant's turn of an exchange; `-fact0` for a fact derived from it;
    `-summary13` for the summary of a conversation from that turn on."""
    head, dash, tail = key.partition("-")
    if not (dash and tail):
        return head[:length]
    return f"{head[:length]}-{tail if tail.startswith((FACT, SUMMARY)) else tail[:1]}"


def resolve_id(ids: Collection[str], named: str, *, exchange: bool = False) -> list[str]:
    """The one id that equals or begins with `named`; with `exchange`, all ids of one exchange."""
    if named in ids:
        return [named]
    if len(named) < LEAST_PREFIX:
        raise SettingsError(
            f"{named!r} is too short: give {LEAST_PREFIX} or more characters of an id.",
            mend="assistant memory list",
        )
    head, dash, tail = named.partition("-")
    found = [
        key
        for key in ids
        if key.startswith(named)
        or (dash and key.startswith(head) and key.partition("-")[2].startswith(tail))
    ]
    if not found:
        raise no_such_memory(named)
    of_one = len({key.partition("-")[0] for key in found}) == 1
    if len(found) > 1 and not (exchange and of_one):
        length = next(
            (n for n in range(8, 64) if len({short(key, n) for key in found}) == len(found)), 64
        )
        some = ", ".join(short(key, length) for key in sorted(found)[:NAMED_AT_ONCE])
        more = " and others" if len(found) > NAMED_AT_ONCE else ""
        raise StoreError(
            f"{named[:40]!r} matches {len(found)} memories: {some}{more}.",
            mend="Give more characters of the id.",
        )
    return found


def no_such_memory(named: str) -> StoreError:
    return StoreError(f"There is no memory {named[:40]!r}.", mend="assistant memory list")


def fact_id(exchange: str, number: int) -> str:
    return f"{exchange}-{FACT}{number}"


def exchange_of(memory_id: str) -> tuple[str, int] | None:
    """The exchange and the number of a fact; None for other memories."""
    match = FACT_ID.fullmatch(memory_id)
    return (match["exchange"], int(match["number"])) if match is not None else None


def renamed(memory: Memory, name: Callable[[str], str]) -> Memory:
    """The memory with every foreign id, also in its references, replaced by one that reveals
    nothing.

    Args:
        name: maps an id that this program did not make to a new one; always to the same.
    """

    def anew(key: str) -> str:
        part = PART.fullmatch(key)
        whole, which = (part["of"], part["which"]) if part is not None else (key, "")
        ours = whole in ("", ADDED_BY_USER) or OURS.fullmatch(whole) is not None
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


def subject_of(conversation: str, first: int) -> str:
    """The subject of a span of turns; also the id of its summary among the memories."""
    return f"{conversation}-{SUMMARY}{first}"


def is_summary(memory_id: str) -> bool:
    return SUMMARY_ID.fullmatch(memory_id) is not None
