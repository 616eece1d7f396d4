"""All tool servers that the settings name."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assistant.errors import ToolServerDown
from assistant.tool_server_settings import ToolServer, Value
from assistant.tool_servers.connection import Connection
from assistant.tool_servers.tool import Tool, ToolResult


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The state of a tool server.

    Attributes:
        unusable: number of its tools that can't be used by voice.
        problem: why it is down; empty if it isn't.
    """

    name: str
    tools: tuple[Tool, ...]
    unusable: int
    problem: str


class ToolServers:
    """The tool servers of a session. Nothing is started before `start`. Use it only on one event
    loop.

    Args:
        settings: the servers by name.
    """

    def __init__(self, settings: Mapping[str, ToolServer]) -> None:
        self.changed: Callable[[], object] = lambda: None
        """Called when the set of tools has changed."""
        self._connections = {
            name: Connection(name, each, self._tell) for name, each in settings.items()
        }
        self._running: list[asyncio.Task[None]] = []

    @property
    def tools(self) -> list[Tool]:
        """The tools of the servers that run."""
        return [tool for each in self._connections.values() for tool in each.tools]

    def start(self) -> None:
        """Start the servers in the background."""
        runs = [each.run() for each in self._connections.values()]
        self._running = [asyncio.create_task(run) for run in runs]

    async def close(self) -> None:
        """End the servers."""
        running, self._running = self._running, []
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def settled(self) -> list[ServerReport]:
        """Wait until every server is ready or down, and report their states."""
        for each in self._connections.values():
            await each.settled.wait()
        return [
            ServerReport(each.name, each.tools, each.unusable, str(each.problem or ""))
            for each in self._connections.values()
        ]

    async def call(self, tool: Tool, arguments: Mapping[str, Value | list[str]]) -> ToolResult:
        """Call a tool; see `Connection.call`.

        Raises:
            ToolError: the tool can't be called, or what it has done is unknown.
        """
        connection = self._connections.get(tool.server)
        if connection is None:
            raise ToolServerDown(f"There is no tool server {tool.server}.")
        return await connection.call(tool, arguments)

    def _tell(self) -> None:
        self.changed()
