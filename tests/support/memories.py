"""Memories to store, for the tests of the table."""

from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.records.serialization import to_json
from assistant.memory.store.table import MemoryTable

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)


def memory(text: str = "My dog is called Max.", user: str = "ada", at: int = 0) -> Memory:
    return Memory(new_id(), user, MemoryKind.EXCHANGE, text, NOW + timedelta(seconds=at))


def rich(text: str = "She moved to Lisbon.") -> Memory:
    """A memory in which no field has its default value."""
    return Memory(
        id=new_id(),
        user_id="ada",
        kind=MemoryKind.FACT,
        text=text,
        created=NOW,
        speaker=ASSISTANT,
        conversation="c1",
        context="the sentence before",
        importance=0.1,
        confidence=1 / 3,
        last_used=NOW + timedelta(days=1, microseconds=1),
        uses=7,
        feedback=-2,
        expires=NOW + timedelta(days=365),
        sources=("e1", "e2"),
        supersedes=("m1",),
        superseded_by="m9",
        pinned=True,
        never_recall=True,
        refreshed=NOW + timedelta(days=2),
        separate=True,
    )


def stored(table: MemoryTable, user: str = "ada") -> list[Memory]:
    return [memory for batch in table.scan(user) for memory in batch.memories()]


def exports(table: MemoryTable, user: str = "ada") -> list[dict[str, Any]]:
    """The memories as JSON objects, as `import_` accepts them."""
    return [to_json(memory) for memory in stored(table, user)]


def turn(number: int, text: str, created: datetime = NOW, **more: Any) -> Memory:
    """A memory of the user's words, from an exchange of its own."""
    key = f"m{number}"
    given: dict[str, Any] = {"speaker": USER, "sources": (f"x{number}",), **more}
    return Memory(key, "ada", MemoryKind.EXCHANGE, text, created, **given)
