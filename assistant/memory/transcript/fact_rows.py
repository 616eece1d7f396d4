"""Stores the facts derived from exchanges, and converts them to memories.

The facts of one exchange are a `DerivedOutput` of kind `EXTRACTED`. Its content is a list of facts.
From these facts, the memories can be created again without a model. A fact that the user deleted or
edited is replaced by None, so that it doesn't come back.
"""

import json
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assistant.context import Exchange
from assistant.language.calendar import day_words
from assistant.memory.records import ids
from assistant.memory.records.ids import exchange_of, fact_id
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript import rows, span_summaries
from assistant.memory.transcript.database import Transcript

EXTRACTED = "extract"
"""The kind of the derived outputs that contain facts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that the user stated. `quote` is the evidence in the user's words. `importance` and
    `confidence` are in [0, 1]."""

    kind: str
    text: str
    quote: str
    importance: float
    confidence: float


def content_of(facts: Iterable[Fact]) -> list[dict[str, Any] | None]:
    """Convert facts to JSON-compatible values."""
    return [asdict(fact) for fact in facts]


def memories_of_facts(
    user_id: str, conversation: str, exchange: Exchange, content: Sequence[Mapping[str, Any] | None]
) -> list[Memory]:
    """Return the memories of the facts in `content`. Each memory's id is derived from the
    exchange's id, so that storing the memories again adds no duplicates."""
    return [
        Memory(
            id=fact_id(exchange.id, number),
            user_id=user_id,
            kind=MemoryKind(fact["kind"]),
            text=fact["text"],
            created=exchange.started,
            conversation=conversation,
            context=day_words(exchange.started),
            importance=fact["importance"],
            confidence=fact["confidence"],
            sources=(exchange.id,),
        )
        for number, fact in enumerate(content)
        if fact is not None
    ]


def read(
    transcript: Transcript, user: str, exchanges: Collection[str]
) -> dict[str, list[dict[str, Any] | None]]:
    """Return the facts derived from these exchanges, by exchange id.

    Raises:
        StoreError: the file could not be read.
    """
    with transcript.reading() as db:
        found = rows.derived(db, user, EXTRACTED, exchanges)
    return {subject: json.loads(content) for _, subject, content in found}


def suppress(
    transcript: Transcript,
    user: str,
    memories: Collection[Memory],
    same: Callable[[str, str], bool] = operator.eq,
) -> None:
    """Delete the texts of facts and summaries that the user deleted or changed, and prevent them
    from being derived again. If a fact has several source exchanges, it is deleted in all of them.

    Args:
        memories: may include memories of other kinds, which are ignored.
        same: returns whether the texts of two facts mean the same.

    Raises:
        StoreError: the file could not be written, or another program uses it and so prevents its
            log from being emptied.
    """
    wanted: dict[str, list[Memory]] = {}
    for each in memories:
        if exchange_of(each.id) is not None:
            for source in each.sources:
                wanted.setdefault(source, []).append(each)
    summaries = [each.id for each in memories if ids.is_summary(each.id)]
    if not wanted and not summaries:
        return
    with transcript.writing() as db:
        changed = span_summaries.suppress(db, user, summaries)
        for number, subject, content in rows.derived(db, user, EXTRACTED, wanted):
            facts = json.loads(content)
            left = [
                None if _is_one(subject, n, fact, wanted[subject], same) else fact
                for n, fact in enumerate(facts)
            ]
            if left != facts:
                text = json.dumps(left, ensure_ascii=False)
                db.execute("UPDATE derived SET content = ? WHERE number = ?", (text, number))
                changed = True
    if changed:
        transcript.rewrite()


def _is_one(
    exchange: str,
    number: int,
    fact: Mapping[str, Any] | None,
    wanted: Sequence[Memory],
    same: Callable[[str, str], bool],
) -> bool:
    """Whether a fact is one of the memories `wanted`, or was merged into one of them."""
    key = fact_id(exchange, number)
    return fact is not None and any(
        each.id == key or (not each.id.startswith(f"{exchange}-") and same(each.text, fact["text"]))
        for each in wanted
    )


def delete_derived(transcript: Transcript, user: str, exchanges: Collection[str]) -> None:
    """Delete the facts derived from these exchanges, so that they are derived again. This is needed
    if they had been merged into another fact that was deleted.

    Raises:
        StoreError: the file could not be written.
    """
    if not exchanges:
        return
    with transcript.writing() as db:
        for number, _, _ in rows.derived(db, user, EXTRACTED, exchanges):
            db.execute("DELETE FROM derived WHERE number = ?", (number,))


def told_elsewhere(
    gone: Iterable[Memory], chosen: Iterable[Memory], exchanges: Collection[str]
) -> set[str]:
    """Return the ids of the remaining exchanges in which the user also stated facts that are
    deleted.

    Args:
        gone: all memories that are deleted.
        chosen: the memories that the user chose to delete. Their sources are not returned.
        exchanges: the ids of the exchanges that are deleted.
    """
    named = {memory.id for memory in chosen}
    resting = [each for each in gone if exchange_of(each.id) and each.id not in named]
    return {source for memory in resting for source in memory.sources} - set(exchanges)


def tellings(memories: Iterable[tuple[str, Collection[str]]]) -> list[tuple[str, str]]:
    """Return the pairs of ids that record the expiry of facts and summaries. Each pair is the id of
    an exchange and the id of a fact or summary derived from it. Other memories are ignored.

    Args:
        memories: the id of each memory, with the ids of its source exchanges.
    """
    return [
        (exchange, key)
        for key, sources in memories
        if exchange_of(key) is not None or ids.is_summary(key)
        for exchange in sources
    ]
