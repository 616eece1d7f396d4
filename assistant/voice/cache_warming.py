"""Fills the language model's cache with the conversation's history between turns.

In the next turn, the model then has to read only the new words. Reading stops as soon as the model
is needed. The part of the history that was read by then stays in the cache.
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
"""A prompt without user text, to overwrite a part of the cache."""


class CacheWarmer:
    """Keeps the conversation's part of a model's cache up to date.

    Args:
        on_read: called with the number of tokens that the model read and the seconds this took.
    """

    def __init__(self, llm: LanguageModel, on_read: Callable[[int, float], None]) -> None:
        self._llm = llm
        self._on_read = on_read
        self._task: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    def warm(self, messages: Sequence[Message]) -> None:
        """Start reading `messages` into the cache. A read in progress is cancelled."""
        self._task = asyncio.create_task(self._read(messages, after=self._task))

    def clear_background(self) -> None:
        """Start overwriting the part of the cache that background work uses, because it may contain
        user text such as the source of a summary."""
        self._clearing = asyncio.create_task(self._read(BLANK_PROMPT, None, Lane.BACKGROUND))

    async def cool(self) -> None:
        """Stop reading, and wait until the model is free."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})

    async def warmed(self) -> None:
        """Wait until the messages given to `warm` have been read."""
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
