"""Memories made of an exchange, without any model."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Protocol

from assistant.context.conversation import Exchange
from assistant.memory.question import day_words
from assistant.memory.record import ASSISTANT, USER, Kind, Memory

IMPORTANCE = {USER: 0.5, ASSISTANT: 0.2}
"""What the user said is what the user will ask for."""


class Transcript(Protocol):
    """The source from which memories can be made again."""

    def exchange_ids(self, user: str) -> set[str]: ...

    def exchanges(self, user: str, ids: Collection[str]) -> Iterable[tuple[str, Exchange]]: ...

    def expire(self, user: str, tellings: Iterable[tuple[str, str]], at: datetime) -> None: ...

    def expired(self, user: str, now: datetime) -> set[str]: ...


def memories_of(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """One of each speaker's turn, in the order in which they were said. Their ids follow from the
    exchange's, so that they can be made again without being doubled."""
    turns = {USER: exchange.user_text.strip(), ASSISTANT: exchange.assistant_text.strip()}
    return [
        Memory(
            id=f"{exchange.id}-{speaker}",
            user_id=user_id,
            kind=Kind.EXCHANGE,
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


def made_again(
    user_id: str, transcript: Transcript, ids: Collection[str], now: datetime
) -> list[Memory]:
    """Memories of these exchanges, but for those that have expired. Raises StoreError."""
    if not ids:
        return []
    expired = transcript.expired(user_id, now)
    return [
        memory
        for conversation, exchange in transcript.exchanges(user_id, ids)
        for memory in memories_of(user_id, conversation, exchange)
        if memory.id not in expired
    ]
