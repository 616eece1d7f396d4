"""A memory that is kept clean while it runs, and what one may say to it twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event
from assistant.memory.encoding import QueryEncoder
from assistant.memory.lexicon import Lexicon
from assistant.memory.long_term import LongTermMemory
from assistant.memory.ranking import Ranking
from assistant.memory.recollection import Archive
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript
from assistant.memory.upkeep import Policy
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
async def running(
    home: Home, *, warned: bool = False
) -> AsyncIterator[tuple[LongTermMemory, Archive]]:
    events: list[Event] = []
    memory = LongTermMemory(
        USER,
        lambda: MemoryTable.open(str(home.memories)),
        QueryEncoder(HashingEncoder()),
        Lexicon("en"),
        Ranking(),
        events.append,
        policy=Policy.of(SETTINGS.memory),
    )
    with closing(Transcript.open(home.transcript)) as transcript:
        await memory.load(transcript)
        yield memory, Archive(transcript, memory)
        await memory.close()
    assert any(getattr(event, "severity", None) == "warning" for event in events) is warned
