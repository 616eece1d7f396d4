"""Short notations for conversations, with the memories of their exchanges and of earlier ones."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Exchange
from assistant.events import MemoryUsed
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.forgetting.answer_origins import AnsweredTurn
from assistant.memory.records.memory import Memory, MemoryKind

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
WEEK = timedelta(days=7)

Said = tuple[str, str]
"""The user's words and the assistant's answer."""


def exchange(key: str, said: str, answered: str, started: datetime, turn: int = 1) -> Exchange:
    return Exchange(key, turn, said, started, answered, ended=started + timedelta(seconds=9))


def earlier(old: Mapping[str, Said]) -> list[Exchange]:
    """Exchanges that began a week ago, a minute apart, under the given ids."""
    return [
        exchange(key, *said, NOW - WEEK + timedelta(minutes=at))
        for at, (key, said) in enumerate(old.items())
    ]


def remembered(exchanges: Sequence[Exchange]) -> dict[str, Memory]:
    made = [memory for each in exchanges for memory in materialize_exchange("me", "c", each)]
    return {memory.id: memory for memory in made}


def note(
    key: str, text: str, *sources: str, kind: MemoryKind = MemoryKind.FACT, at: int = 0
) -> Memory:
    """A memory of `at` minutes after `NOW`."""
    return Memory(key, "me", kind, text, NOW + timedelta(minutes=at), sources=sources)


def turned(
    talk: Sequence[tuple[str, str, str]], everything: Mapping[str, Memory]
) -> list[AnsweredTurn]:
    """Turns t1, t2, …, a minute apart, each given with the memories in its prompt, best first.

    `o1` is the memory of the user's words in exchange o1, `o1:a` that of the answer; `~o1` was not
    near.
    """
    turns = []
    for number, (said, answered, ids) in enumerate(talk, start=1):
        made = exchange(f"t{number}", said, answered, NOW + timedelta(minutes=number), number)
        used = [_used(name, place, everything) for place, name in enumerate(ids.split())]
        turns.append(AnsweredTurn(made, tuple(used)))
    return turns


def _used(name: str, place: int, everything: Mapping[str, Memory]) -> MemoryUsed:
    key = name.removeprefix("~")
    if key not in everything:
        key = f"{key.removesuffix(':a')}-assistant" if key.endswith(":a") else f"{key}-user"
    memory = everything[key]
    return MemoryUsed(
        id=key,
        text=memory.text,
        score=1.0 - place / 10,
        speaker=memory.speaker,
        said=memory.created,
        near=not name.startswith("~"),
    )
