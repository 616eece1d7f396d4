"""Memories made of an exchange, without any model."""

from collections.abc import Iterable

from assistant.context.conversation import Exchange
from assistant.memory.profile import told_of_name
from assistant.memory.question import day_words
from assistant.memory.record import ASSISTANT, USER, Kind, Memory

IMPORTANCE = {USER: 0.5, ASSISTANT: 0.2}
"""What the user said is what the user will ask for."""


def memories_of(user_id: str, conversation: str, exchange: Exchange) -> list[Memory]:
    """One of each speaker's turn, in the order in which they were said. Their ids follow from the
    exchange's, so that they can be made again without being doubled. Last what the user told of
    their name, if they did."""
    turns = {USER: exchange.user_text.strip(), ASSISTANT: exchange.assistant_text.strip()}
    made = [
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
    return made + told_of_name(user_id, conversation, exchange)


def memories_of_all(user_id: str, exchanges: Iterable[tuple[str, Exchange]]) -> list[Memory]:
    """Of exchanges with the conversations that they belong to."""
    return [
        memory
        for conversation, exchange in exchanges
        for memory in memories_of(user_id, conversation, exchange)
    ]
