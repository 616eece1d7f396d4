"""Creates what uses the tools of other programs. Without tool servers in the settings, nothing is
created, imported or started."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from assistant.compose.memory import profile_encoder
from assistant.errors import ModelError
from assistant.intents import Intent
from assistant.memory import MemoryService, QueryEncoder
from assistant.settings import Settings
from assistant.skills import Remark, Tools
from models.interfaces import LanguageModel

if TYPE_CHECKING:
    from assistant.tool_servers import Vectors

logger = logging.getLogger(__name__)


class NoTools:
    """A session without tool servers."""

    skill: Tools | None = None
    """Uses the tools; None without servers."""

    def start(self, stack: AsyncExitStack) -> None:
        """Start the servers, and keep the index of their tools up to date in the background, until
        the session ends. The voice loop must be running."""

    @property
    def find(self) -> Callable[[str], Awaitable[Intent | None]] | None:
        """Finds the intent of an utterance that may ask for a tool; None without servers."""
        return self.skill.find if self.skill is not None else None


class SessionTools(NoTools):
    """The tool servers of a session, and the skill that uses their tools.

    Args:
        encode: encodes texts without keeping anything of them, because what the user says may have
            to be forgotten. May raise ModelError.
    """

    def __init__(
        self,
        settings: Settings,
        encode: "Callable[[Sequence[str]], Vectors]",
        llm: LanguageModel,
        off_record: Callable[[], bool],
        remark: Callable[[Remark], object],
    ) -> None:
        from assistant.tool_servers import ToolIndex, ToolServers

        self._servers = ToolServers(settings.mcp)
        self._index = ToolIndex(encode)
        self._stale = asyncio.Event()
        self._servers.changed = self._stale.set
        self.skill = Tools(self._servers, self._index, encode, llm, off_record, remark)

    def start(self, stack: AsyncExitStack) -> None:
        self._servers.start()
        stack.push_async_callback(self._servers.close)
        stack.callback(asyncio.create_task(self._follow()).cancel)

    async def _follow(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                await asyncio.to_thread(self._index.build, self._servers.tools)
            except ModelError as error:
                logger.warning("tools can't be found by their meaning: %s", error)


def open_tools(
    memory: MemoryService | None,
    settings: Settings,
    llm: LanguageModel,
    off_record: Callable[[], bool],
    remark: Callable[[Remark], object],
) -> NoTools:
    """Create what uses the tools of the servers in the settings."""
    if not settings.mcp:
        return NoTools()
    user = memory.session_user if memory is not None else None
    encode = user.vectors if user is not None else _LazyEncoder(settings).vectors
    return SessionTools(settings, encode, llm, off_record, remark)


class _LazyEncoder:
    """The profile's fast encoder, for a session without a memory. Loaded on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._encoder: QueryEncoder | None = None

    def vectors(self, texts: Sequence[str]) -> "Vectors":
        """Encode texts without caching anything. Blocks. Raises ModelError."""
        if self._encoder is None:
            encoder = profile_encoder(self._settings)
            encoder.load()
            self._encoder = encoder
        return self._encoder.encode_apart(texts)
