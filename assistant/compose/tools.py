"""Sets up the use of other programs' tools. Without tool servers in the settings, nothing is
imported or started."""

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
from assistant.voice import Dialogue
from models.interfaces import LanguageModel

if TYPE_CHECKING:
    from assistant.skills import Remark, Tools
    from assistant.tool_servers import ToolIndex, ToolServers, Vectors

logger = logging.getLogger(__name__)

RETRY_S = 2.0
"""Seconds before the index is built again if the encoder failed. It may still be loading."""


class SessionTools:
    """The tool servers of a session, and the skill that uses their tools.

    Attributes:
        skill: None if the settings name no servers.
    """

    skill: "Tools | None" = None

    def start(self) -> None:
        """Start the servers in the background. The voice loop must be running."""

    @property
    def find(self) -> Callable[[str], Awaitable[Intent | None]] | None:
        """Finds a tool for an utterance that isn't a command; None if there are no servers."""
        return self.skill.find if self.skill is not None else None


class _StartedTools(SessionTools):
    """Servers, and the index of their tools, which is kept up to date in the background.

    Args:
        stack: ends the servers when it is closed.
    """

    def __init__(
        self, servers: "ToolServers", index: "ToolIndex", skill: "Tools", stack: AsyncExitStack
    ) -> None:
        self.skill = skill
        self._servers = servers
        self._index = index
        self._stack = stack
        self._stale = asyncio.Event()
        servers.changed = self._stale.set

    def start(self) -> None:
        self._servers.start()
        self._stack.push_async_callback(self._servers.close)
        self._stack.callback(asyncio.create_task(self._follow()).cancel)

    async def _follow(self) -> None:
        told = False
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                await asyncio.to_thread(self._index.build, self._servers.tools)
            except ModelError as error:
                if not told:
                    told = True
                    logger.warning("tools can't be found by their meaning yet: %s", error)
                await asyncio.sleep(RETRY_S)
                self._stale.set()


def open_tools(
    memory: MemoryService | None,
    settings: Settings,
    llm: LanguageModel,
    dialogue: Dialogue,
    remark: "Callable[[Remark], object]",
    stack: AsyncExitStack,
) -> SessionTools:
    """Set up the tools of the servers that the settings name.

    Args:
        remark: makes a remark when a slow tool has answered.
        stack: ends the servers when it is closed.
    """
    if not settings.mcp:
        return SessionTools()
    from assistant.skills import Tools
    from assistant.tool_servers import ToolIndex, ToolServers

    user = memory.session_user if memory is not None else None
    encode = user.vectors if user is not None else _LazyEncoder(settings).vectors
    servers, index = ToolServers(settings.mcp), ToolIndex(encode)
    skill = Tools(servers, index, encode, llm, lambda: dialogue.off_record, remark)
    return _StartedTools(servers, index, skill, stack)


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
