"""A language model that is loaded on first use. If it is never used, it costs nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext

from models.interfaces import Chunk, Generation, LanguageModel, Message


class LazyLanguageModel:
    """A `LanguageModel` that is loaded by the first call of `stream` or `load`.

    Args:
        build: creates the model. Blocking; may raise ModelError or SettingsError.
    """

    def __init__(self, build: Callable[[], LanguageModel]) -> None:
        self.name = ""
        """Name of the model; empty until it is loaded."""
        self._build = build
        self._llm: LanguageModel | None = None
        self._loading = asyncio.Lock()

    @property
    def context_tokens(self) -> int:
        return self._loaded.context_tokens

    async def load(self) -> None:
        async with self._loading:
            if self._llm is None:
                llm = await asyncio.to_thread(self._build)
                try:
                    await llm.load()
                except BaseException:
                    await llm.close()
                    raise
                self._llm, self.name = llm, llm.name

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        await self.load()
        async with aclosing(self._loaded.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def count(self, text: str) -> int:
        return self._loaded.count(text)

    def count_messages(self, messages: Sequence[Message]) -> int:
        return self._loaded.count_messages(messages)

    def hold(self) -> AbstractContextManager[None]:
        return self._llm.hold() if self._llm is not None else nullcontext()

    async def close(self) -> None:
        if self._llm is not None:
            await self._llm.close()

    @property
    def _loaded(self) -> LanguageModel:
        if self._llm is None:
            raise RuntimeError("the model is not loaded yet")
        return self._llm
