"""The connection to one tool server: starts it, keeps the list of its tools, and calls them.

A server's faults reach the rest of the program only as a ToolError.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from assistant.errors import ToolError, ToolLate, ToolServerDown
from assistant.tool_server_settings import ToolServer, Value
from assistant.tool_servers.calls import send_call
from assistant.tool_servers.child_process import ChildProcess
from assistant.tool_servers.tool import Tool, ToolResult, read_tool

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import IncomingMessage

    from assistant.tool_servers.local_http import LocalServer

logger = logging.getLogger(__name__)

START_S = 30.0
"""Seconds that a server has to start. The time is long because some servers first download parts
of themselves."""
LIST_S = 10.0
RELIST_S = 5.0
"""Minimum number of seconds between two readings of the list, however often a server reports
changes."""
RESTART_S = 60.0
"""Seconds until a program that has ended is started again (once only), or until the next attempt to
connect to a server at an address."""
RECONNECT_S = 5.0
"""A call tries to reconnect only if the last attempt was at least this many seconds ago."""
MOST_LATE = 2
"""Number of calls in a row without an answer after which a server counts as hanging, and is
ended."""
MOST_TOOLS = 64
MOST_PAGES = 20


class ServerState(StrEnum):
    STARTING = "starting"
    READY = "ready"
    DOWN = "down"


class Connection:
    """A tool server that is kept running. Use it only on one event loop.

    Args:
        changed: called when the list of tools has changed.
        restart_s: as `RESTART_S`.
        reconnect_s: as `RECONNECT_S`.
    """

    def __init__(
        self,
        name: str,
        settings: ToolServer,
        changed: Callable[[], object] = lambda: None,
        *,
        restart_s: float = RESTART_S,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self.name = name
        self.tools: tuple[Tool, ...] = ()
        self.unusable = 0
        """Number of tools that can't be used by voice."""
        self.problem: ToolError | None = None
        """Why the server is down."""
        self.state = ServerState.STARTING
        self._settings = settings
        self._changed = changed
        self._restart_s = restart_s
        self._reconnect_s = reconnect_s
        self._client: Client | None = None
        self._server: ChildProcess | LocalServer | None = None
        self._tried = float("-inf")
        """The loop's time when starting or connecting was last attempted."""
        self._wanted = asyncio.Event()
        """Set to connect to the server now."""
        self._late = 0
        self._calls = 0
        """Number of calls that were sent and have not been answered yet."""
        self._broken = asyncio.Event()
        self._relist = asyncio.Event()
        self.settled = asyncio.Event()
        """Set when the server was found ready, or could not be started or reached."""

    @property
    def pid(self) -> int | None:
        return self._server.pid if isinstance(self._server, ChildProcess) else None

    async def run(self) -> None:
        """Keep the server running until this is cancelled. If a program ends by itself, it is
        started again once, after a while. A connection to a server at an address is attempted again
        and again."""
        await self._attempt()
        if self._settings.url is None:
            await asyncio.sleep(self._restart_s)
            await self._attempt()
            return
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._restart_s):
                    await self._wanted.wait()
            await self._attempt()

    async def _attempt(self) -> None:
        """Start the server or connect to it, and keep it until it has ended."""
        before = self.problem
        self._tried = asyncio.get_running_loop().time()
        self._wanted.clear()
        self.state = ServerState.STARTING
        try:
            async with self._connected() as client:
                problem = await self._serve(client)
            self.problem = problem
        except ToolError as error:
            self.problem = error
        except Exception as error:  # whatever a server or the library does, the session goes on
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # raised instead of the cancellation
                raise asyncio.CancelledError from error
            logger.exception("the tool server %s failed", self.name)
            self.problem = ToolServerDown(f"The tool server {self.name} doesn't work.")
            self.problem.__cause__ = error
        was_ready = self.state is ServerState.READY
        self.state = ServerState.DOWN
        if self._settings.url is None or not was_ready:
            self._update(())  # otherwise it may only be restarting, with the same tools
        if not was_ready:
            self.settled.set()
        if str(self.problem) != str(before):
            logger.warning("%s", self.problem)

    async def call(self, tool: Tool, arguments: Mapping[str, Value | list[str]]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolServerDown: the tool was not called, because the server isn't running or answering,
                or the tool is gone or has changed.
            ToolLate: the server did not answer in time. Whether the tool has done anything is
                unknown.
            ToolOutcomeUnknown: the connection was lost after the call was sent, or the answer can't
                be understood.
        """
        if self._settings.url is not None and not await self._is_there():
            await self._reconnect()
        client = self._client
        if client is None:
            why = self.problem or f"The tool server {self.name} isn't ready yet."
            raise ToolServerDown(str(why))
        if tool not in self.tools:
            raise ToolServerDown(f"The tool server {self.name} no longer offers that.")
        if isinstance(self._server, ChildProcess):
            self._server.keep_quiet()
        self._calls += 1
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                result = await send_call(client, tool, arguments, self._is_lost)
        except TimeoutError:
            self._late += 1
            if self._late >= MOST_LATE:
                self._broken.set()
            raise ToolLate(f"The tool server {self.name} did not answer in time.") from None
        finally:
            self._calls -= 1
        self._late = 0
        return result

    # -- inside ---------------------------------------------------------------------------------

    def _is_lost(self) -> bool:
        return self._has_ended() or self.state is not ServerState.READY

    async def _is_there(self) -> bool:
        """Ask a server at an address for its tools, and return whether it answered. If it was
        restarted, it may have other tools, or may not know this connection.

        Raises:
            ToolServerDown: it doesn't answer, but may still answer other calls.
        """
        if self._client is None or self._server is None or self._server.ended.is_set():
            return False
        try:
            async with asyncio.timeout(LIST_S):
                await self._list(self._client)
        except Exception as error:  # whatever the server or the library does
            logger.info("the tools of %s can't be listed", self.name, exc_info=True)
            if self._calls:
                text = f"The tool server {self.name} isn't answering right now."
                raise ToolServerDown(text) from error
            self._server.ended.set()
            return False
        return True

    async def _reconnect(self) -> None:
        """Connect to a server at an address now.

        Raises:
            ToolServerDown: the last attempt was just now.
        """
        if asyncio.get_running_loop().time() - self._tried < self._reconnect_s:
            raise self._gone()
        self.settled.clear()
        self._wanted.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.timeout_s):
                await self.settled.wait()

    def _has_ended(self) -> bool:
        return self._server is not None and self._server.ended.is_set()

    def _gone(self) -> ToolError:
        return ToolServerDown(f"The tool server {self.name} has ended.")

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator["Client"]:
        """Connect to the server, and list its tools.

        Raises:
            ToolError: it can't be started, or does not answer.
        """
        mcp = await asyncio.to_thread(_library)
        self._broken.clear()
        self._relist.clear()
        self._late = 0
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(START_S):
                    client = await stack.enter_async_context(
                        mcp.Client(
                            self._new_server().streams(),
                            cache=None,
                            message_handler=self._heard,
                            client_info=mcp.types.Implementation(
                                name="local-voice-assistant", version="1"
                            ),
                        )
                    )
                    await self._list(client)
            except TimeoutError as error:
                raise ToolLate(f"The tool server {self.name} did not start in time.") from error
            except ToolError:
                raise
            except Exception as error:  # errors of the library and others, also in groups
                raise self._not_connected() from error
            self._client = client
            try:
                yield client
            finally:
                self._client = None

    def _not_connected(self) -> ToolError:
        if not isinstance(self._server, ChildProcess):
            return ToolServerDown(f"No tool server answers at {self._settings.url}.")
        why = f" It says: {self._server.complaint}" if self._server.complaint else ""
        return ToolServerDown(f"The tool server {self.name} ended while it was starting.{why}")

    def _new_server(self) -> "ChildProcess | LocalServer":
        settings = self._settings
        if settings.command is not None:
            self._server = ChildProcess(self.name, settings.command, settings.args, settings.env)
            return self._server
        assert settings.url is not None
        from assistant.tool_servers.local_http import LocalServer

        self._server = LocalServer(self.name, settings.url)
        return self._server

    async def _serve(self, client: "Client") -> ToolError:
        """Keep the list of tools up to date until the server has ended or hangs. Return an error
        that says which."""
        self.state, self.problem = ServerState.READY, None
        self.settled.set()
        watching = asyncio.create_task(self._listen(client))
        try:
            while not await self._is_over(self._relist):
                self._relist.clear()
                async with asyncio.timeout(LIST_S):
                    await self._list(client)
                await self._is_over(within_s=RELIST_S)  # a change in the meantime is not lost
        except TimeoutError:
            self._broken.set()
        except Exception:  # the answer is not a list
            logger.exception("the tools of %s can't be listed", self.name)
            return ToolServerDown(f"The tool server {self.name} doesn't say which tools it has.")
        finally:
            watching.cancel()
            await asyncio.wait({watching})
        if self._broken.is_set():
            return ToolLate(f"The tool server {self.name} no longer answers.")
        return self._gone()

    async def _is_over(self, *others: asyncio.Event, within_s: float | None = None) -> bool:
        """Wait until the server ends or hangs, another event happens, or the time is up. Return
        whether the server has ended or hangs."""
        assert self._server is not None
        events = [self._broken, self._server.ended, *others]
        waiting = [asyncio.create_task(each.wait()) for each in events]
        try:
            await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return self._has_ended() or self._broken.is_set()

    async def _heard(self, message: "IncomingMessage") -> None:
        """Receive a message that no request asked for."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._relist.set()

    async def _listen(self, client: "Client") -> None:
        """Ask a server with a newer protocol to report changes to its tools. Older servers report
        changes unasked."""
        capabilities = client.server_capabilities.tools
        if capabilities is None or not capabilities.list_changed:
            return
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._relist.set()
        except ListenNotSupportedError:
            return
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            logger.info("%s doesn't report changes: %s", self.name, type(error).__name__)

    async def _list(self, client: "Client") -> None:
        """Read the list of the server's tools."""
        found: dict[str, Tool] = {}
        unusable, cursor = 0, None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for each in page.tools:
                tool = self._read(each)
                unusable += tool is None
                if tool is not None and len(found) < MOST_TOOLS:
                    found.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS:
                break
        self.unusable = unusable
        self._update(tuple(found.values()))

    def _read(self, listed: Any) -> Tool | None:
        notes, confirm = listed.annotations, self._settings.confirm
        read_only = notes is not None and notes.read_only_hint is True
        return read_tool(
            self.name,
            listed.name,
            listed.description,
            listed.input_schema,
            read_only=read_only,
            confirmed=confirm == "always" or (confirm == "changes" and not read_only),
            defaults=self._settings.defaults,
        )

    def _update(self, tools: tuple[Tool, ...]) -> None:
        if tools != self.tools:
            self.tools = tools
            self._changed()


def _library() -> Any:
    """Import the MCP library, which takes about a second. Blocks."""
    import mcp
    import mcp.client.streamable_http
    import mcp.client.subscriptions
    import mcp.types

    return mcp
