"""What a screen connects to: a running assistant (`AssistantProcess`), or a recorded conversation
(`Replay`)."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from assistant.errors import AssistantError
from assistant.events import Event
from assistant.ipc import Request, Row
from assistant.settings import Settings

if TYPE_CHECKING:
    from assistant.encryption import Vault

Heard = Callable[[Event, datetime], None]
"""Receives an event and when it happened."""
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
            AssistantError: the request failed.
        """

    async def restart(self, settings: Settings) -> None:
        """End the assistant, and start it again with these settings. Raises as `start`.

        Before `start`, only stores the settings.
        """

    async def close(self) -> None:
        """End the session. Idempotent."""
