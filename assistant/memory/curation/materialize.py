"""Creates memories from exchanges, without any model."""

from collections.abc import Collection
from datetime import datetime

from assistant.context import Exchange
from assistant.language.calendar import day_words
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.curation.profile_facts import told_of_name, told_of_wishes
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript import fact_rows, span_summaries
from assistant.memory.transcript.database import Transcript

IMPORTANCE = {USER: 0.5, ASSISTANT: 0.2}
"""What the user said matters more, since it is what they will ask for."""


def materialize_all(
    user_id: str, transcript: Transcript, now: datetime, beyond: Collection[str] = frozenset()
) -> list[Memory]:
    """The memories of all exchanges in the transcript except `beyond`, with the facts and summaries
    derived from them; expired ones are left out.

    Raises:
        StoreError: the transcript can't be read.
    """
    wanted = transcript.exchange_ids(user_id) - set(beyond)
    if not wanted:
        return []
    expired, derived = transcript.expired(user_id, now), fact_rows.read(transcript, user_id, wanted)
    told = {each.id: (talk, each) for talk, each in transcript.exchanges(user_id, wanted)}
    made = [
        memory
        for conversation, exchange in told.values()
        for memory in (
            *materialize_exchange(user_id, conversation, exchange),
            *fact_rows.memories_of_facts(
                user_id, conversation, exchange, derived.get(exchange.id, ())
            ),
        )
    ]
    with transcript.reading() as db:
        made += span_summaries.stored_summaries(db, user_id, told)
    return [memory for memory in made if memory.id not in expired]


def materialize_exchange(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """One memory per speaker's turn, in order, then what the user said about their name and about
    how to be answered. Their ids follow from the exchange's, so repeating this adds no doubles."""
    turns = {USER: exchange.user_text.strip(), ASSISTANT: exchange.assistant_text.strip()}
    made = [
        Memory(
            id=f"{exchange.id}-{speaker}",
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
    told = (user_id, conversation, exchange)
    return made + told_of_name(*told) + told_of_wishes(*told)
