"""A memory that is curated while it is open, and one statement in two spellings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.user_memory import opened_memory

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
    policy = CurationPolicy.of(SETTINGS.memory)
    with closing(Transcript.open(home.transcript)) as transcript:
        opened = opened_memory(
            home.memories, None, transcript, user=USER, emit=events.append, policy=policy
        )
        async with opened as memory:
            yield memory, Archive(transcript, memory)
    assert any(getattr(event, "severity", None) == "warning" for event in events) is warned
