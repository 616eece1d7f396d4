"""The interface between a screen and the source of its events.

The source is a running assistant (`AssistantProcess`) or a recorded conversation (`Replay`).
"""

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
"""Called with an event and the time at which it happened."""
Ended = Callable[[AssistantError | None], None]
"""Called after the last event, with the error that ended the session, if any."""
Unlock = Callable[[], Awaitable["Vault"]]
"""Opens the vault of the home."""


class Session(Protocol):
    """The interface of a session. No method blocks the event loop."""

    live: bool
    """Whether the session has an assistant. If not, the session replays recorded events and refuses
    requests."""

    async def start(self, hear: Heard, ended: Ended) -> None:
        """Start the session.

        Args:
            hear: called with each event.
            ended: called after the last event, unless the session was closed.

        Raises:
            AssistantError: the session can't be started.
        """

    def do(self, command: str) -> None:
        """Send a command to the assistant: see `assistant.app.Assistant.command`."""

    def say(self, text: str) -> None:
        """Send a turn that the user has typed.

        Raises:
            AssistantError: the assistant is not running.
        """

    async def ask(self, request: Request) -> list[Row]:
        """Send a request about memories or the user's state, and return its answer.

        See `assistant.memory.admin_requests` and `assistant.state.requests`.

        Raises:
            AssistantError: the request failed.
        """

    async def restart(self, settings: Settings) -> None:
        """End the assistant, and start it again with these settings.

        If the session has not been started yet, only store the settings.

        Raises:
            AssistantError: the assistant can't be started.
        """

    async def close(self) -> None:
        """End the session. Idempotent."""
