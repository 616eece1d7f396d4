"""Runs a tool server as a child process, and carries messages over its pipes.

Unlike the MCP library's own transport, this module limits the length of messages, keeps the user's
words out of the log if the server writes them to its error output, and ends the server even if the
assistant is killed.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import ToolServerDown
from assistant.tool_servers.tool import one_line

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

logger = logging.getLogger(__name__)

LONGEST_MESSAGE = 1 << 20
"""Maximum number of bytes of a message. A server that sends a longer one is ended."""
MOST_RUBBISH = 100
"""Maximum number of lines that are not messages. A server that prints more is ended. A few are
common: some programs print a greeting to their standard output."""
STOP_S = 1.5
"""Seconds that a server has to end by itself after its input was closed."""
LOGGED_LINES = 20
LONGEST_LOGGED = 300
INHERITED = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"),
    *("APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERPROFILE"),
)
"""The environment variables that a server inherits. Others may contain secrets."""
_GUARD = Path(__file__).with_name("guard.py")


class ChildProcess:
    """A tool server's process. It belongs to the event loop in which it is started.

    Args:
        name: the server's name, for the log.
    """

    def __init__(
        self, name: str, command: str, args: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self._name = name
        self._command = (command, *args)
        self._environment = {key: os.environ[key] for key in INHERITED if key in os.environ}
        self._environment |= env
        self._process: asyncio.subprocess.Process | None = None
        self._lifeline: int | None = None
        self._quiet = False
        self.complaint = ""
        """The last line of its error output that was logged."""
        self.ended = asyncio.Event()
        """Set when the server has ended, or its output is no longer read because it is invalid."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def keep_quiet(self) -> None:
        """Stop logging the server's error output. Called before the user's first words are passed
        on, because servers often log their arguments."""
        self._quiet = True

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator["TransportStreams"]:
        """Start the process, and yield the streams of its messages. Leaving the block ends the
        process.

        Raises:
            ToolServerDown: the process can't be started.
        """
        import anyio
        from mcp.shared.message import SessionMessage

        process = await self._started()
        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(self._read(process, received)),
            asyncio.create_task(self._write(process, to_send)),
            asyncio.create_task(self._log(process)),
        ]
        try:
            yield incoming, outgoing
        finally:
            await asyncio.shield(self._stop(process, tasks))
            for stream in (received, incoming, outgoing, to_send):
                stream.close()

    async def _started(self) -> asyncio.subprocess.Process:
        """Start the process. A cancellation doesn't interrupt this, because asyncio would then lose
        the process."""
        starting = asyncio.ensure_future(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(ToolServerDown):
                await self._stop(await starting, ())
            raise

    async def _start(self) -> asyncio.subprocess.Process:
        command: tuple[str, ...] = self._command
        passed: tuple[int, ...] = ()
        watched: int | None = None
        program = shutil.which(command[0], path=self._environment.get("PATH"))
        if program is None:
            raise ToolServerDown(
                f"The tool server {self._name} can't be started: there is no program {command[0]}."
            )
        if os.name == "posix":
            watched, self._lifeline = os.pipe()
            command = (sys.executable, "-I", "-S", str(_GUARD), str(watched), *command)
            passed = (watched,)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                limit=LONGEST_MESSAGE,
                pass_fds=passed,
                start_new_session=True,  # the terminal's Ctrl-C is for the assistant
            )
        except (OSError, ValueError) as error:
            self._let_go()
            raise ToolServerDown(f"The tool server {self._name} can't be started.") from error
        finally:
            if watched is not None:
                os.close(watched)
        return self._process

    async def _read(self, process: asyncio.subprocess.Process, received: "_Sink") -> None:
        """Pass on the server's messages until it ends."""
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        assert process.stdout is not None
        rubbish = 0
        try:
            while line := await process.stdout.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    rubbish += bool(line.strip())
                    if rubbish > MOST_RUBBISH:
                        logger.warning(
                            "the tool server %s prints lines that are not messages", self._name
                        )
                        return
                else:
                    await received.send(SessionMessage(message))
        except ValueError:
            logger.warning("a message from the tool server %s is too long", self._name)
        finally:
            received.close()
            self.ended.set()

    async def _write(self, process: asyncio.subprocess.Process, to_send: "_Source") -> None:
        """Send messages to the server. If it has ended, `_read` deals with that."""
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            async for each in to_send:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(line.encode() + b"\n")
                await process.stdin.drain()

    async def _log(self, process: asyncio.subprocess.Process) -> None:
        """Log the first lines of the server's error output, and discard all others."""
        assert process.stderr is not None
        logged = 0
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:  # a line that was too long, and has been discarded
                continue
            if not line:
                return
            text = one_line(line.decode(errors="replace"), LONGEST_LOGGED)
            if text and not self._quiet and logged < LOGGED_LINES:
                logged += 1
                self.complaint = text
                logger.info("the tool server %s: %s", self._name, text)

    async def _stop(
        self, process: asyncio.subprocess.Process, tasks: Sequence[asyncio.Task[None]]
    ) -> None:
        """End the server: close its input, wait for it to end, and kill it and the processes that
        it has started if they are still running."""
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        self._let_go()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # No public method closes the pipes of a process whose output has not been read completely.
        process._transport.close()  # type: ignore[attr-defined]
        await process.wait()

    def _let_go(self) -> None:
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            os.close(lifeline)


if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    _Sink = MemoryObjectSendStream[SessionMessage | Exception]
    _Source = MemoryObjectReceiveStream[SessionMessage]
