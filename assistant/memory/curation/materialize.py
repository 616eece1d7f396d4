"""Creates memories from exchanges, without a model.

These memories contain what was said, the user's name, and how the user wants to be answered.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from assistant.context import Exchange
from assistant.language.calendar import day_words
from assistant.language.dialogue_acts import WISHED
from assistant.language.name_introduction import name_told
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.third_person import third_person
from assistant.memory.curation.statements import statements
from assistant.memory.records.ids import (
    ADDED_BY_USER,
    PART,
    WISH,
    exchange_of,
    merged_ids,
    telling,
)
from assistant.memory.records.memory import MARKS, Memory, MemoryKind, new_id
from assistant.memory.retrieval.user_profile import TEXTS
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.repair import SAVED_AT_ONCE
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import fact_rows, span_summaries
from assistant.memory.transcript.database import Transcript

IMPORTANCE = {USER: 0.5, ASSISTANT: 0.2}
"""Initial importance by speaker. The user's words get more, because users mostly ask about them."""
CERTAIN = 0.9
"""Importance and confidence of the user's name and wishes, which are in every prompt."""
TOLD = 1.0
"""Importance of what the user asked the assistant to remember. Such memories never expire."""
_INTRODUCES = re.compile(
    r"(?:please )?(?:my name(?: is|'s)|(?:you can |just |always )?call me)(?: [\w'’-]+){1,3}[.!]?",
    re.IGNORECASE,
)
_FROM_NOW_ON = re.compile(r"\bfrom now on,\s*", re.IGNORECASE)
"""A phrase whose comma is removed, because no new clause begins after it."""


def materialize_exchange(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """Create the memories of an exchange: one per speaker's turn, then the user's name and wishes.

    Memory ids are derived from the exchange's id, so repeating the call creates no duplicates.
    """
    turns = {USER: exchange.user_text.strip(), ASSISTANT: exchange.assistant_text.strip()}
    made = [
        Memory(
            id=telling(exchange.id, speaker),
            user_id=user_id,
            kind=MemoryKind.EXCHANGE,
            text=text,
            created=exchange.started,
            speaker=speaker,
            conversation=conversation,
            context=day_words(exchange.started),
            importance=IMPORTANCE[speaker],
            sources=(exchange.id,),
        )
        for speaker, text in turns.items()
        if text
    ]
    return made + [
        Memory(
            id=f"{exchange.id}-{what}",
            user_id=user_id,
            kind=kind,
            text=text,
            created=exchange.started,
            conversation=conversation,
            importance=CERTAIN,
            confidence=CERTAIN,
            sources=(exchange.id,),
        )
        for what, kind, text in profile_notes(exchange.user_text)
    ]


def profile_notes(said: str) -> list[tuple[str, MemoryKind, str]]:
    """Return the names and wishes that the user's words contain. Each is a tuple of the suffix of
    its id, its kind and its text."""
    names = [
        (what, MemoryKind.PROFILE, TEXTS[what].format(name))
        for what, name in name_told(said).items()
    ]
    return names + [
        (f"{number}-{WISH}", MemoryKind.PREFERENCE, text)
        for number, text in enumerate(wishes(said))
    ]


def memories_of_words(user_id: str, words: str, now: datetime, *, pinned: bool) -> list[Memory]:
    """Create memories, usually one, from words that the user asked the assistant to remember.

    An introduction or a wish becomes a note in the profile, as it does in an exchange. Other words
    become a fact, word for word. If they contain a name or a wish, a note is created as well.
    """
    key, notes = new_id(), profile_notes(words)
    introduces = _INTRODUCES.fullmatch(words.strip()) is not None
    made = [] if notes and (introduces or is_wish(words)) else [("", MemoryKind.FACT, words)]
    return [
        Memory(
            id=f"{key}-{what}" if what else key,
            user_id=user_id,
            kind=kind,
            text=text,
            created=now,
            context=day_words(now),
            importance=TOLD,
            sources=(ADDED_BY_USER,),
            pinned=pinned,
        )
        for what, kind, text in [*made, *notes]
    ]


def wishes(said: str) -> list[str]:
    """Return how the user wants to be answered from now on, in the third person; usually nothing.

    Cautious rules for English recognise plain instructions that are meant to last.

    >>> wishes("Please always answer in one sentence.")
    ['The user wants the assistant to always answer in one sentence.']
    """
    plain = _FROM_NOW_ON.sub("from now on ", said.replace("’", "'"))
    if not WISHED.search(plain):  # most utterances contain no wish
        return []
    return [third_person(quote) for quote in statements(plain) if is_wish(quote)]


def is_derived_note(memory: Memory) -> bool:
    """Whether a memory is a name or a wish that was taken from the user's words in an exchange."""
    return (
        memory.kind in (MemoryKind.PROFILE, MemoryKind.PREFERENCE)
        and PART.fullmatch(memory.id) is not None
        and exchange_of(memory.id) is None
    )


def is_wish(quote: str) -> bool:
    """Whether a statement says how the assistant should answer from now on."""
    return WISHED.match(quote.replace("’", "'")) is not None


def materialize_all(
    user_id: str, transcript: Transcript, now: datetime, beyond: Collection[str] = frozenset()
) -> list[Memory]:
    """Create the memories of all exchanges in the transcript that are not in `beyond`.

    Includes the facts and summaries derived from these exchanges. Expired memories are left out.

    Raises:
        StoreError: the transcript can't be read.
    """
    wanted = transcript.exchange_ids(user_id) - set(beyond)
    if not wanted:
        return []
    expired, derived = transcript.expired(user_id, now), fact_rows.read(transcript, user_id, wanted)
    exchanges = {each.id: (talk, each) for talk, each in transcript.exchanges(user_id, wanted)}
    made: list[Memory] = []
    for conversation, exchange in exchanges.values():
        facts = derived.get(exchange.id, ())
        made += materialize_exchange(user_id, conversation, exchange)
        made += fact_rows.memories_of_facts(user_id, conversation, exchange, facts)
    with transcript.reading() as db:
        made += span_summaries.stored_summaries(db, user_id, exchanges)
    return [memory for memory in made if memory.id not in expired]


def rebuild_rows(table: MemoryTable, user_id: str, made: Sequence[Memory]) -> set[str]:
    """Replace the table's rows with memories that were derived anew; return the ids of memories
    that the table did not contain before.

    Fields that can't be derived again (`MARKS`) are preserved. Rows whose ids are not in `made` are
    left unchanged, e.g. memories that the user wrote. If a fault has left several rows with the
    same id, only one is kept. Merged memories stay merged.

    Args:
        made: the memories derived from the transcript.

    Raises:
        StoreError: the table failed. Memories from the transcript can be derived again.
    """
    before: dict[str, Memory] = {}
    twice: dict[str, Memory] = {}
    for memory in in_order(table, user_id):
        if memory.id in before:
            twice[memory.id] = memory
        before[memory.id] = memory
    merged = merged_ids(before.values()) - set(before)
    kept = {source for memory in made for source in memory.sources}
    fresh = {
        memory.id: _marked(memory, before.get(memory.id), kept)
        for memory in made
        if memory.id not in merged
    }
    changed = {key: memory for key, memory in fresh.items() if memory != before.get(key)}
    if twice:
        table.delete(user_id, twice)
    rows = list((twice | {key: fresh[key] for key in twice if key in fresh} | changed).values())
    for start in range(0, len(rows), SAVED_AT_ONCE):
        table.put(rows[start : start + SAVED_AT_ONCE])
    table.compact()
    return set(fresh) - set(before)


def _marked(memory: Memory, before: Memory | None, exchanges: Collection[str]) -> Memory:
    if before is None:
        return memory
    again = tuple(each for each in before.sources if each in exchanges)
    sources = tuple(dict.fromkeys(memory.sources + again))
    return replace(memory, **{name: getattr(before, name) for name in MARKS}, sources=sources)
