"""The screen's side of the assistant's process: starts it, receives its events, sends requests."""

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from assistant.compose import SessionPlan
from assistant.encryption import Vault
from assistant.errors import AssistantError, StoreError
from assistant.events import Event
from assistant.ipc import RemoteError, event_from_json
from assistant.paths import Home
from assistant.settings import Settings
from ui.process.console import UnexpectedError
from ui.session.assistant_worker import StartRequest

logger = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "ui.session.assistant_worker")
LONGEST_LINE = 1 << 26
"""Bytes; a whole prompt is on one line."""
CLOSING_S = 4.0

Heard = Callable[[Event, datetime], None]
"""Receives an event and when it happened."""


class AssistantProcess:
    """One assistant's process, from `start` to `close`. Belongs to the event loop.

    Args:
        vault: the home's, open as long as this exists.
        hear: receives every event in order.
        ended: called once with the reason it ended, unless it was closed.
        command: runs `ui.session.assistant_worker`.
        environment: of the process; default: this one's.
    """

    def __init__(
        self,
        home: Home,
        vault: Vault,
        plan: SessionPlan,
        hear: Heard,
        ended: Callable[[AssistantError], None],
        *,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command or COMMAND
        self._environment = environment
        self._home = home
        self._vault = vault
        self._hear = hear
        self._ended = ended
        self._plan = plan
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    async def start(self, settings: Settings) -> None:
        """Raises StoreError: no process can be started."""
        key = self._vault.key.secret.hex() if self._vault.key is not None else None
        order = StartRequest(home=self._home.root, settings=settings, key=key, plan=self._plan)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is the screen's
            )
        except OSError as error:
            raise StoreError(f"The assistant can't be started: {error.strerror}.") from error
        self._send(order.model_dump_json())
        self._reading = asyncio.create_task(self._read(self._process))

    def do(self, command: str) -> None:
        """Send a command of `Assistant.command`."""
        self._send(json.dumps({"do": command}))

    def say(self, text: str) -> None:
        """Send a typed turn."""
        self._send(json.dumps({"say": text}))

    async def close(self) -> None:
        """End it; by force if it takes too long. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(CLOSING_S):
                await process.wait()
        except TimeoutError:
            logger.warning("the assistant did not end and is being killed")
            process.kill()
            await process.wait()
        if self._reading is not None:
            await self._reading

    # -- inside ---------------------------------------------------------------------------------

    def _send(self, line: str) -> None:
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(f"{line}\n".encode())

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        failed: AssistantError | None = None
        try:
            failed = await self._events(process)
        except Exception as error:  # better to end than to show a frozen screen
            logger.exception("the assistant's output was not understood")
            failed = UnexpectedError(error, self._home.log)
            process.kill()
        code = await process.wait()
        if self._process is process:  # it was not closed
            self._process = None
            told = f"The assistant's process ended unexpectedly (code {code})."
            mend = f"See the log: {self._home.log}"
            self._ended(failed or RemoteError(told, mend, 70))

    async def _events(self, process: asyncio.subprocess.Process) -> AssistantError | None:
        """Pass on events until there are no more; returns the reason for the end, if it was
        given."""
        assert process.stdout is not None
        failed: AssistantError | None = None
        async for line in process.stdout:
            row = json.loads(line)
            if "event" in row:
                self._hear(event_from_json(row["event"]), datetime.fromisoformat(row["at"]))
            else:
                failed = RemoteError(**row["failed"])
        return failed
