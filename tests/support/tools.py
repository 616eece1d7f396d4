"""Tool servers for tests, and what tests wait for."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from assistant.tool_server_settings import ToolServer
from assistant.tool_servers.connection import Connection
from assistant.tool_servers.tool import Tool
from tests.support import tool_server
from tests.support.patience import PATIENCE_S

SCRIPT = str(Path(tool_server.__file__))


def shelf(mode: str = "plain", file: Path | None = None, **settings: object) -> ToolServer:
    """The settings of the test's own server; `tests.support.tool_server` says what it can do."""
    args = [SCRIPT, mode, *([str(file)] if file else [])]
    return ToolServer.model_validate({"command": sys.executable, "args": args, **settings})


@asynccontextmanager
async def connected(
    settings: ToolServer, *, restart_s: float = 600, reconnect_s: float = 600
) -> AsyncIterator[Connection]:
    """A connection to a server that is ready, or down."""
    connection = Connection("shelf", settings, restart_s=restart_s, reconnect_s=reconnect_s)
    running = asyncio.create_task(connection.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await connection.settled.wait()
        yield connection
    finally:
        running.cancel()
        await asyncio.wait({running})


def tool_of(tools: tuple[Tool, ...] | list[Tool], name: str) -> Tool:
    return next(each for each in tools if each.name == name)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


def runs(pid: int) -> bool:
    """Whether a process runs. One that has ended but was not waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
