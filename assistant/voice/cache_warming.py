"""Cache warming: between turns the model reads the history into its cache.

A turn then reads only its own words. Reading stops the moment the model is needed; the part
read by then stays in the cache.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from assistant.errors import ModelError
from models.interfaces import Generation, Lane, LanguageModel, Message

logger = logging.getLogger(__name__)

BLANK_PROMPT = (Message("user", "Nothing."),)


class CacheWarmer:
    """Keeps the conversation lane of one model's cache up to date.

    Args:
        on_read: called with the number of tokens read and the seconds it took.
    """

    def __init__(self, llm: LanguageModel, on_read: Callable[[int, float], None]) -> None:
        self._llm = llm
        self._on_read = on_read
        self._task: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    def warm(self, messages: Sequence[Message]) -> None:
        """Start reading `messages`, in place of whatever was being read."""
        self._task = asyncio.create_task(self._read(messages, after=self._task))

    def clear_background(self) -> None:
        """Start overwriting what background work has read, such as the source of a summary."""
        self._clearing = asyncio.create_task(self._read(BLANK_PROMPT, None, Lane.BACKGROUND))

    async def cool(self) -> None:
        """Stop reading, and return once the model is free."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})

    async def warmed(self) -> None:
        """Wait until the requested messages have been read."""
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
            logger.warning("the model's cache could not be updated: %s", type(error).__name__)
