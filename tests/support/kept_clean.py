"""A memory that is kept clean while it runs, and what one may say to it twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.encoders import HashingEncoder

USER = "me"
DAYS_AGO = datetime.now(UTC) - timedelta(days=20)
SAID = "My dog is called Max."
AGAIN = "my dog is called Max"
SETTINGS = Settings()


def said(text: str, answer: str = "Good.", at: datetime | None = None) -> Exchange:
    talk = Conversation.begin(USER)
    talk.append_user(1, text, at or datetime.now(UTC))
    return talk.complete(1, answer, ended=(at or datetime.now(UTC)) + timedelta(seconds=3))


@asynccontextmanager
async def running(home: Home, *, warned: bool = False) -> AsyncIterator[tuple[UserMemory, Archive]]:
    events: list[Event] = []
    memory = UserMemory(
        USER,
        lambda: MemoryTable.open(str(home.memories)),
        QueryEncoder(HashingEncoder()),
        TextAnalyzer("en"),
        Ranking(),
        events.append,
        policy=CurationPolicy.of(SETTINGS.memory),
    )
    with closing(Transcript.open(home.transcript)) as transcript:
        await memory.load(transcript)
        yield memory, Archive(transcript, memory)
        await memory.close()
    assert any(getattr(event, "severity", None) == "warning" for event in events) is warned
