"""What a screen connects to: a running assistant, or a recorded conversation."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from assistant.compose import SessionPlan
from assistant.errors import AssistantError, StoreError
from assistant.events import Event
from assistant.ipc import Request, Row, send_request
from assistant.paths import Home
from assistant.settings import Settings

if TYPE_CHECKING:
    from assistant.encryption import Vault
    from ui.session.assistant_process import AssistantProcess

Heard = Callable[[Event, datetime], None]
Ended = Callable[[AssistantError | None], None]
Unlock = Callable[[], Awaitable["Vault"]]


class Session(Protocol):
    """Everything a screen may ask for; nothing blocks the event loop."""

    live: bool
    """Whether there is an assistant; if not, past events are shown, and nothing can be
    requested."""

    async def start(self, hear: Heard, ended: Ended) -> None:
        """Start sending events. Raises AssistantError: nothing can be started.

        Args:
            ended: called when no more events will come, with the reason, unless it was closed.
        """

    def do(self, command: str) -> None:
        """Send a command of `assistant.app.Assistant.command`."""

    def say(self, text: str) -> None:
        """Send a typed turn. Raises AssistantError: there is no assistant."""

    async def ask(self, request: Request) -> list[Row]:
        """Send a request about memories: see `assistant.memory.admin_requests`.

        Raises:
            AssistantError: it failed.
        """

    async def restart(self, settings: Settings) -> None:
        """End the assistant, and start it again with these settings. Raises as `start`.

        Before `start`, only takes the settings.
        """

    async def close(self) -> None:
        """Idempotent."""


class Live:
    """An assistant in its own process.

    Args:
        vault: the home's, or what opens it when the assistant is started.
    """

    live = True

    def __init__(
        self, home: Home, settings: Settings, vault: "Vault | Unlock", plan: SessionPlan
    ) -> None:
        self._home = home
        self._settings = settings
        self._unlock = vault if callable(vault) else None
        self._vault = None if callable(vault) else vault
        self._plan = plan
        self._hosted: AssistantProcess | None = None
        self._hear: Heard | None = None
        self._ended: Ended | None = None

    async def start(self, hear: Heard, ended: Ended) -> None:
        self._hear, self._ended = hear, ended
        vault = self._vault
        if vault is None:
            assert self._unlock is not None
            vault = self._vault = await self._unlock()
        from ui.session.assistant_process import (
            AssistantProcess,  # imports encryption, which the first frame didn't need
        )

        self._hosted = AssistantProcess(self._home, vault, self._plan, hear, ended)
        await self._hosted.start(self._settings)

    def do(self, command: str) -> None:
        if self._hosted is not None:
            self._hosted.do(command)

    def say(self, text: str) -> None:
        if self._hosted is None or not self._hosted.runs:
            raise StoreError("The assistant is not running, so that was not sent.")
        self._hosted.say(text)

    async def ask(self, request: Request) -> list[Row]:
        request = {"user": self._settings.general.user, **request}
        return await asyncio.to_thread(self._asked, request)

    async def restart(self, settings: Settings) -> None:
        self._settings = settings
        await self.close()
        if self._hear is not None and self._ended is not None:
            await self.start(self._hear, self._ended)

    async def close(self) -> None:
        hosted, self._hosted = self._hosted, None
        if hosted is not None:
            await hosted.close()

    def release(self) -> None:
        """Release the home, when nothing will be started any more."""
        if self._vault is not None:
            self._vault.close()

    def _asked(self, request: Request) -> list[Row]:
        answered = send_request(self._home.door, request)
        if answered is None:
            raise StoreError("The memories are still loading.", mend="Try again in a moment.")
        return list(answered)
