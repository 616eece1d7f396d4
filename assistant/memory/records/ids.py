"""How a person names a memory: by its id, or by the beginning of it."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from assistant.errors import SettingsError, StoreError
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.memory import Memory, MemoryKind

WISH = "wish"
"""The same of what is made of lasting wishes, which all hold."""


OURS = re.compile(r"[0-9a-f]{32}")
"""Ids that this program gives are random, and say nothing."""


def telling(exchange: str, speaker: str) -> str:
    """The id of a speaker's turn."""
    return f"{exchange}-{speaker}"


def own_exchange(memory: Memory) -> str | None:
    """The exchange whose words a verbatim memory has; None for others."""
    suffix = telling("", memory.speaker)
    if memory.kind is not MemoryKind.EXCHANGE or not memory.id.endswith(suffix):
        return None
    return memory.id.removesuffix(suffix)


def repeated(memory: Memory) -> tuple[str, ...]:
    """The exchanges of a verbatim memory's other tellings."""
    own = own_exchange(memory)
    return tuple(source for source in memory.sources if source != own) if own is not None else ()


def merged_ids(memories: Iterable[Memory]) -> set[str]:
    """Ids of the turns that have no memory of their own, because another stands for them."""
    return {telling(each, memory.speaker) for memory in memories for each in repeated(memory)}


ADDED_BY_USER = "you"
"""The source of what the user wrote down, in place of an exchange's id."""
FACT = "fact"
"""Its number follows."""
SUMMARY = "summary"
"""The number of its first turn follows."""
LEAST_PREFIX = 6
"""Characters of an id by which a memory may be named."""
NAMED_AT_ONCE = 4
"""Of the ids that a prefix may mean."""


def short(key: str, length: int = 8) -> str:
    """The beginning of an id, by which it can be named: `1f0c9a2b`, or `1f0c9a2b-u` and `-a` for
    the user's and the assistant's turn of one exchange, `-fact0` for what was derived of it,
    `-summary13` for what a conversation was about from a turn on."""
    head, dash, tail = key.partition("-")
    if not (dash and tail):
        return head[:length]
    return f"{head[:length]}-{tail if tail.startswith((FACT, SUMMARY)) else tail[:1]}"


def resolve_id(ids: Collection[str], named: str, *, exchange: bool = False) -> list[str]:
    """The id that `named` is, or that alone begins so; with `exchange`, all of one exchange's."""
    if named in ids:
        return [named]
    if len(named) < LEAST_PREFIX:
        raise SettingsError(
            f"{named!r} is too short: {LEAST_PREFIX} or more characters of an id name a memory.",
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
            f"{named[:40]!r} may mean {len(found)} memories: {some}{more}.",
            mend="Name it by more of its id.",
        )
    return found


def no_such_memory(named: str) -> StoreError:
    return StoreError(f"There is no memory {named[:40]!r}.", mend="assistant memory list")


FACT_ID = re.compile(rf"(?P<exchange>.+)-{FACT}(?P<number>\d+)")


def fact_id(exchange: str, number: int) -> str:
    return f"{exchange}-{FACT}{number}"


def exchange_of(memory_id: str) -> tuple[str, int] | None:
    """Of which exchange a fact is, and which of its facts; None of other memories."""
    match = FACT_ID.fullmatch(memory_id)
    return (match["exchange"], int(match["number"])) if match is not None else None


PART = re.compile(
    rf"(?P<of>.+)(?P<which>-(?:{USER}|{ASSISTANT}|{NAME}|{ADDRESS}|\d{{1,6}}-{WISH}"
    rf"|(?:{FACT}|{SUMMARY})\d{{1,6}}))",
    re.DOTALL,
)
"""What it makes of an exchange or a conversation is named after that, with who spoke, or what it is
and a number."""


def renamed(memory: Memory, name: Callable[[str], str]) -> Memory:
    """The memory under ids that say nothing, and so are those that it refers to.

    Args:
        name: what an id that this program did not give is to be called; always the same.
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


SUMMARY_ID = re.compile(rf"(?P<conversation>.+)-{SUMMARY}(?P<first>\d+)")


def subject_of(conversation: str, first: int) -> str:
    """Of a span; and the id of its summary among the memories."""
    return f"{conversation}-{SUMMARY}{first}"


def is_summary(memory_id: str) -> bool:
    return SUMMARY_ID.fullmatch(memory_id) is not None
