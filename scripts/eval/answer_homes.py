"""Simulates people who talk to the assistant on earlier days, so that their questions can be asked
later.

No language model is used, and the assistant always gives the same short reply, so that the memories
don't depend on a model.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.compose.idle import JobResources, build_jobs
from assistant.compose.memory import log_notice, open_home_memory
from assistant.errors import ModelFailed, ModelMissing
from assistant.memory.service import MemoryService
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from models.interfaces import Chunk, Generation, Message
from scripts.common.simulated_clock import simulated_clock
from scripts.eval.answer_data import Person
from scripts.eval.session_turns import SessionParts, open_session

ZONE = "Europe/London"
NOW = datetime(2026, 11, 25, 10, 20, tzinfo=ZoneInfo(ZONE))
"""When the questions are asked. The earlier sessions began at the same time of day."""
PAUSE = timedelta(seconds=30)
"""Time between two turns."""
REPLY = "I see."
AT_ONCE = 10
"""Number of subjects in a batch of an idle job."""


class NoModel:
    """A language model that never answers."""

    name = "none"
    context_tokens = 8192

    async def load(self) -> None:
        """Nothing to load."""

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        if request.max_tokens:
            raise ModelFailed("There is no language model.")
        yield Chunk("")

    def count(self, text: str) -> int:
        return len(text.split())

    def count_messages(self, messages: Sequence[Message]) -> int:
        return sum(self.count(each.content) for each in messages)

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def close(self) -> None:
        """Nothing to close."""


async def live(folder: Path, person: Person, parts: SessionParts, now: datetime = NOW) -> None:
    """Say everything that a person says to the assistant, in a new home. After each session, do the
    idle work that the settings enable and that needs no language model. Turns that a skill answers
    are not stored.

    Args:
        parts: the parts of the sessions, with `NoModel` as the language model.
        now: the time from which the sessions' days are counted back.

    Raises:
        ModelError: an encoder is missing or damaged.
        StoreError: the home can't be written.
    """
    time = now
    with simulated_clock(lambda: time):
        async with open_home(folder, parts.settings) as memory:
            for each in person.sessions:
                time = now - timedelta(days=each.days_ago)
                async with open_session(parts, Home(folder), memory) as session:
                    for said in each.said:
                        if await session.reply(said) is None:
                            await session.keep(said, REPLY)
                        time += PAUSE
                    await _work(memory, parts.settings)


@asynccontextmanager
async def open_home(folder: Path, settings: Settings) -> AsyncIterator[MemoryService]:
    """A home's memory as a session opens it, with all memories loaded.

    Raises:
        ModelError: an encoder is missing or damaged.
        StoreError: the home can't be read.
    """
    home = Home(folder).create()
    service = await asyncio.to_thread(open_home_memory, home, settings, None, log_notice)
    try:
        await asyncio.to_thread(service.prepare)
        memory = loaded_user(service)
        await memory.load(service.transcript)
        await memory.settled()
        await asyncio.to_thread(memory.strengthening.begin().result)
        yield service
    finally:
        await asyncio.to_thread(service.close)


def loaded_user(service: MemoryService) -> UserMemory:
    """The memory of the session's user. Raises ModelMissing: it has no encoder."""
    if service.session_user is None:
        raise ModelMissing(
            "Without the profile's sentence encoder, nothing is remembered.",
            mend="assistant models pull",
        )
    return service.session_user


async def _work(service: MemoryService, settings: Settings) -> None:
    """Do all idle work that needs no language model."""
    memory = loaded_user(service)
    await memory.settled()  # new statements are compared with older ones
    for job in build_jobs(JobResources(settings, service.transcript, memory)):
        while subjects := await job.missing(AT_ONCE):
            await job.run(subjects)
    await memory.settled()
