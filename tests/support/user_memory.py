"""One user's memory and its index, put together in one place for all tests that need the real ones,
and an encoder that needs no model."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from assistant.events import Event
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from models.interfaces import SentenceEncoder
from tests.support.encoders import HashingEncoder


def user_memory(
    table: Path | Callable[[], MemoryTable],
    encoder: SentenceEncoder | QueryEncoder | None = None,
    *,
    user: str = "ada",
    stronger: SentenceEncoder | None = None,
    emit: Callable[[Event], None] = lambda _: None,
    **more: Any,
) -> UserMemory:
    """Not loaded yet.

    Args:
        table: its folder, or what opens it.
        more: what else `UserMemory` takes.
    """
    if not isinstance(encoder, QueryEncoder):
        second = QueryEncoder(stronger) if stronger is not None else None
        encoder = QueryEncoder(encoder or HashingEncoder(), stronger=second)
    opens = (lambda: MemoryTable.open(str(table))) if isinstance(table, Path) else table
    return UserMemory(user, opens, encoder, TextAnalyzer("en"), emit, **more)


@asynccontextmanager
async def opened_memory(
    table: Path | Callable[[], MemoryTable],
    encoder: SentenceEncoder | QueryEncoder | None = None,
    transcript: Transcript | None = None,
    **more: Any,
) -> AsyncIterator[UserMemory]:
    """Loaded, and closed at the end."""
    memory = user_memory(table, encoder, **more)
    await memory.load(transcript)
    try:
        yield memory
    finally:
        await memory.close()


def user_index(dimensions: int, ranking: Ranking | None = None) -> UserIndex:
    return UserIndex("ada", TextAnalyzer("en"), dimensions, ranking or Ranking())
