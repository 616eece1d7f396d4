"""Creates and parses ids of memories, and finds memories by an id or its beginning."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from assistant.errors import SettingsError, StoreError
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.memory import Memory, MemoryKind

WISH = "wish"
"""Suffix of the ids of memories derived from lasting wishes."""
ADDED_BY_USER = "you"
"""Stands for an exchange's id in the `sources` of a memory that the user wrote."""
FACT = "fact"
"""Suffix of the ids of facts. A number follows it."""
SUMMARY = "summary"
"""Suffix of the ids of summaries. The number of the first turn follows it."""
LEAST_PREFIX = 6
"""Minimum number of characters of an id prefix."""
NAMED_AT_ONCE = 4
"""Maximum number of matching ids that a message lists."""

OURS = re.compile(r"[0-9a-f]{32}")
"""Matches ids created by this program. They are random, so they reveal nothing."""
FACT_ID = re.compile(rf"(?P<exchange>.+)-{FACT}(?P<number>\d+)")
SUMMARY_ID = re.compile(rf"(?P<conversation>.+)-{SUMMARY}(?P<first>\d+)")
PART = re.compile(
    rf"(?P<of>.+)(?P<which>-(?:{USER}|{ASSISTANT}|{NAME}|{ADDRESS}|\d{{1,6}}-{WISH}"
    rf"|(?:{FACT}|{SUMMARY})\d{{1,6}}))",
    re.DOTALL,
)
"""Matches derived ids: the id of an exchange or a conversation, followed by a suffix.

The suffix is the speaker or the kind. For wishes, facts and summaries, it includes a number.
"""


def telling(exchange: str, speaker: str) -> str:
    """Return the id of the memory that quotes one speaker's turn in an exchange."""
    return f"{exchange}-{speaker}"


def origin_of(memory_id: str) -> str:
    """Return the id of the exchange or conversation from which an id is derived. An id that is not
    derived is returned unchanged."""
    part = PART.fullmatch(memory_id)
    return part["of"] if part is not None else memory_id


def own_exchange(memory: Memory) -> str | None:
    """Return the id of the exchange that a verbatim memory quotes; None for other kinds of
    memory.
    """
    suffix = telling("", memory.speaker)
    if memory.kind is not MemoryKind.EXCHANGE or not memory.id.endswith(suffix):
        return None
    return memory.id.removesuffix(suffix)


def repeated(memory: Memory) -> tuple[str, ...]:
    """Return the ids of other exchanges in which the words of a verbatim memory were said again."""
    own = own_exchange(memory)
    return tuple(source for source in memory.sources if source != own) if own is not None else ()


def merged_ids(memories: Iterable[Memory]) -> set[str]:
    """Return the memory ids of turns that have no memory of their own, because another turn's
    memory covers them.
    """
    return {telling(each, memory.speaker) for memory in memories for each in repeated(memory)}


def short(key: str, length: int = 8) -> str:
    """Shorten an id to a beginning that usually identifies it.

    Examples are `1f0c9a2b`, `1f0c9a2b-u` and `1f0c9a2b-a` for the user's and the assistant's turn
    of an exchange, `1f0c9a2b-fact0` for a fact derived from it, and `1f0c9a2b-summary13` for the
    summary of a conversation from turn 13 on.
    """
    head, dash, tail = key.partition("-")
    if not (dash and tail):
        return head[:length]
    return f"{head[:length]}-{tail if tail.startswith((FACT, SUMMARY)) else tail[:1]}"


def resolve_id(ids: Collection[str], named: str, *, exchange: bool = False) -> list[str]:
    """Return, as a list, the only id that equals `named`, begins with it or is shortened to it.

    Args:
        exchange: whether several ids may match if they belong to the same exchange.

    Raises:
        SettingsError: `named` is too short.
        StoreError: no id matches, or several do.
    """
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
    """Split a fact's id into its exchange's id and its number; None for ids of other memories."""
    match = FACT_ID.fullmatch(memory_id)
    return (match["exchange"], int(match["number"])) if match is not None else None


def renamed(memory: Memory, name: Callable[[str], str]) -> Memory:
    """In a memory, replace every id that this program didn't create, including the ids of other
    memories and of exchanges.

    Args:
        name: maps such an id to a new one that reveals nothing. Equal ids must get equal new ids.
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
    """Return the subject of a span of turns, which is also the id of the memory that summarises
    it.
    """
    return f"{conversation}-{SUMMARY}{first}"


def is_summary(memory_id: str) -> bool:
    return SUMMARY_ID.fullmatch(memory_id) is not None
