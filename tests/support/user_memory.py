"""Builds one user's real memory and index for all tests that need them, by default with an encoder
that needs no model."""

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
    """A memory that is not loaded yet.

    Args:
        table: the table's folder, or a function that opens the table.
        more: further arguments of `UserMemory`.
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
    """A memory that is loaded, and is closed at the end of the block."""
    memory = user_memory(table, encoder, **more)
    await memory.load(transcript)
    try:
        yield memory
    finally:
        await memory.close()


def user_index(dimensions: int, ranking: Ranking | None = None) -> UserIndex:
    return UserIndex("ada", TextAnalyzer("en"), dimensions, ranking or Ranking())
