"""Start the assistant in a separate process, receive its events and send it requests."""

import asyncio
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from assistant.compose import SessionPlan
from assistant.errors import AssistantError, StoreError
from assistant.ipc import NOT_SERVED, RemoteError, Request, Row, event_from_json, send_request
from assistant.paths import Home
from assistant.settings import Settings
from ui.process.console import UnexpectedError
from ui.session.session import Ended, Heard, Unlock

if TYPE_CHECKING:
    from assistant.encryption import Vault

logger = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "ui.session.assistant_worker")
LONGEST_LINE = 1 << 26
"""Maximum number of bytes per line of output. One line may contain a whole prompt."""
CLOSING_S = 4.0
"""Seconds to wait for the process to end before it is killed."""


class StartRequest(BaseModel):
    """The first line sent to the process: what to run, and the key of an encrypted home.

    The line is sent through a pipe, because other users could read command-line arguments, and
    child processes would inherit environment variables.
    """

    home: Path
    settings: Settings
    key: str | None
    plan: SessionPlan


class AssistantProcess:
    """A `Session` that runs the assistant in a separate process. Not thread-safe.

    Args:
        unlock: opens the vault of the home. Called when the assistant is first started.
        command: the command that runs `ui.session.assistant_worker`.
        environment: environment variables of the process. Default: those of this process.
    """

    live = True

    def __init__(
        self,
        home: Home,
        settings: Settings,
        unlock: Unlock,
        plan: SessionPlan,
        *,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command or COMMAND
        self._environment = environment
        self._home = home
        self._settings = settings
        self._unlock = unlock
        self._vault: Vault | None = None
        self._plan = plan
        self._hear: Heard | None = None
        self._ended: Ended | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    async def start(self, hear: Heard, ended: Ended) -> None:
        """Start the process, and pass its events to `hear`.

        Raises:
            StoreError: the process can't be started, or the home can't be unlocked.
        """
        self._hear, self._ended = hear, ended
        vault = self._vault = self._vault or await self._unlock()
        key = vault.key.secret.hex() if vault.key is not None else None
        request = StartRequest(
            home=self._home.root, settings=self._settings, key=key, plan=self._plan
        )
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # so that only the screen gets Ctrl-C
            )
        except OSError as error:
            raise StoreError(f"The assistant can't be started: {error.strerror}.") from error
        self._send(request.model_dump_json())
        self._reading = asyncio.create_task(self._read(self._process, hear, ended))

    def do(self, command: str) -> None:
        self._send(json.dumps({"do": command}))

    def say(self, text: str) -> None:
        if not self.runs:
            raise StoreError("The assistant is not running, so your text was not sent.")
        self._send(json.dumps({"say": text}))

    async def ask(self, request: Request) -> list[Row]:
        request = {"user": self._settings.general.user, **request}
        return await asyncio.to_thread(self._asked, request)

    async def restart(self, settings: Settings) -> None:
        self._settings = settings
        await self.close()
        if self._hear is not None and self._ended is not None:
            await self.start(self._hear, self._ended)

    async def close(self) -> None:
        """End the process, and kill it if this takes longer than CLOSING_S seconds. Idempotent."""
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

    def release(self) -> None:
        """Close the vault of the home. Call this after the last `close`."""
        if self._vault is not None:
            self._vault.close()

    # -- inside ---------------------------------------------------------------------------------

    def _asked(self, request: Request) -> list[Row]:
        answered = send_request(self._home.door, request)
        if answered is None:
            raise StoreError("The memories are still loading.", mend="Try again in a moment.")
        rows = list(answered)
        if rows == [NOT_SERVED]:
            raise StoreError("Nothing is remembered in this session.")
        return rows

    def _send(self, line: str) -> None:
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(f"{line}\n".encode())

    async def _read(self, process: asyncio.subprocess.Process, hear: Heard, ended: Ended) -> None:
        failed: AssistantError | None = None
        try:
            failed = await _events(process, hear)
        except Exception as error:  # end the session, or the screen would seem frozen
            logger.exception("the assistant's output was not understood")
            failed = UnexpectedError(error, self._home.log)
            process.kill()
        code = await process.wait()
        if self._process is process:  # `close` was not called
            self._process = None
            sentence = f"The assistant's process ended unexpectedly (code {code})."
            mend = f"See the log: {self._home.log}"
            ended(failed or RemoteError(sentence, mend, 70))


async def _events(process: asyncio.subprocess.Process, hear: Heard) -> AssistantError | None:
    """Pass events to `hear` until the output of the process ends.

    Returns:
        The error with which the assistant has ended, if any.
    """
    assert process.stdout is not None
    failed: AssistantError | None = None
    async for line in process.stdout:
        row = json.loads(line)
        if "event" in row:
            hear(event_from_json(row["event"]), datetime.fromisoformat(row["at"]))
        else:
            failed = RemoteError(**row["failed"])
    return failed
