"""Reading ahead: between turns the history is read into the model's cache.

A turn then reads no more than its own words. The work is given up the moment the model is wanted;
what was read by then stays in the cache.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from loguru import logger

from assistant.errors import ModelError
from models.interfaces import Generation, Lane, LanguageModel, Message

BLANK_PROMPT = (Message("user", "Nothing."),)


class CacheWarmer:
    """Keeps the conversation lane of one model up to date.

    Args:
        on_read: told of how many tokens were read in how many seconds.
    """

    def __init__(self, llm: LanguageModel, on_read: Callable[[int, float], None]) -> None:
        self._llm = llm
        self._on_read = on_read
        self._task: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    def warm(self, messages: Sequence[Message]) -> None:
        """Begin to read `messages`, in place of whatever was being read."""
        self._task = asyncio.create_task(self._read(messages, after=self._task))

    def clear_background(self) -> None:
        """Begin to overwrite what background work has read, a summary's source for one."""
        self._clearing = asyncio.create_task(self._read(BLANK_PROMPT, None, Lane.BACKGROUND))

    async def cool(self) -> None:
        """Give up, and return when the model is free."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})

    async def warmed(self) -> None:
        """Wait until what was asked for is read."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def _read(
        self,
        messages: Sequence[Message],
        after: "asyncio.Task[None] | None",
        lane: Lane = Lane.CONVERSATION,
    ) -> None:
        if after is not None and not after.done():
            after.cancel()
            await asyncio.wait({after})
        generation = Generation(messages=tuple(messages), max_tokens=0, lane=lane)
        began = time.monotonic()
        try:
            async with aclosing(self._llm.stream(generation)) as chunks:
                async for chunk in chunks:
                    if chunk.usage is not None and lane is Lane.CONVERSATION:
                        self._on_read(chunk.usage.read_tokens, time.monotonic() - began)
        except ModelError as error:
            logger.warning("the cache could not be brought up to date: {}", type(error).__name__)
