"""Fills the language model's cache with the conversation's history between turns, and with the
beginning of the next message while the user is still speaking.

In the next turn, the model then has to read only the new words. Reading stops as soon as the model
is needed. The part of the prompt that was read by then stays in the cache.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import aclosing

from assistant.errors import ModelError
from models.interfaces import Generation, Lane, LanguageModel, Message

logger = logging.getLogger(__name__)

BLANK_PROMPT = (Message("user", "Nothing."),)
"""A prompt without user text, to overwrite a part of the cache."""
LEAST_READ = 32
"""Minimum number of tokens read for a measurement. The time for a few is mostly overhead."""


class ReadingSpeed:
    """Measures how fast the model reads. The speed limits how many memories a prompt contains."""

    def __init__(self) -> None:
        self.tokens_per_s: float | None = None
        """A moving average; None until it has been measured."""

    def note(self, tokens: int, seconds: float) -> None:
        """Record that the model read `tokens` in `seconds`."""
        if tokens >= LEAST_READ and seconds > 0:
            speed = tokens / seconds
            before = self.tokens_per_s if self.tokens_per_s is not None else speed
            self.tokens_per_s = 0.7 * before + 0.3 * speed


class CacheWarmer:
    """Keeps the conversation's part of a model's cache up to date.

    Args:
        speed: receives the measurements of the model's reading speed.
    """

    def __init__(self, llm: LanguageModel, speed: ReadingSpeed) -> None:
        self._llm = llm
        self._speed = speed
        self._task: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    def warm(self, messages: Sequence[Message], *, measured: bool = True) -> None:
        """Start reading `messages` into the cache. A read in progress is cancelled. Pass
        `measured=False` while the processor has other work, so that the speed is not noted."""
        speed = self._speed if measured else None
        self._task = asyncio.create_task(self._read(messages, self._task, speed=speed))

    def clear_background(self) -> None:
        """Start overwriting the part of the cache that background work uses, because it may contain
        user text such as the source of a summary."""
        read = self._read(BLANK_PROMPT, None, lane=Lane.BACKGROUND)
        self._clearing = asyncio.create_task(read)

    async def cool(self) -> None:
        """Stop reading, and wait until the model is free."""
        while (task := self._task) is not None:
            self._task = None
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
        *,
        lane: Lane = Lane.CONVERSATION,
        speed: ReadingSpeed | None = None,
    ) -> None:
        if after is not None and not after.done():
            after.cancel()
            await asyncio.wait({after})
        generation = Generation(messages=tuple(messages), max_tokens=0, lane=lane)
        began = time.monotonic()
        try:
            async with aclosing(self._llm.stream(generation)) as chunks:
                async for chunk in chunks:
                    if chunk.usage is not None and speed is not None:
                        speed.note(chunk.usage.read_tokens, time.monotonic() - began)
        except ModelError as error:
            logger.warning("the model's cache could not be updated: %s", type(error).__name__)
