"""Sends requests to the running assistant; if none is running, the command does the work itself."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

from assistant.encryption import Vault
from assistant.errors import StoreInUse
from assistant.events import Notice
from assistant.ipc import Request, Row, send_request
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.passphrase import unlock

STARTING_S = 10.0
"""Seconds for which another process may have the memories open without accepting requests yet: an
assistant that is starting, or another command."""


def ask(home: Home, request: Request, otherwise: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The running assistant's answer, or that of `otherwise` if none is running.

    Raises:
        AssistantError: as the assistant or `otherwise`.
    """
    until = time.monotonic() + STARTING_S
    while True:
        answered = send_request(home.door, request)
        try:
            yield from otherwise() if answered is None else answered
            return
        except StoreInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def ask_memory(
    home: Home, settings: Settings, request: Request, unlocked: Callable[[], Vault] | None = None
) -> Iterator[Row]:
    """Answer a request about memories.

    Args:
        unlocked: the home's vault, left open. Default: it is opened and closed again.

    Raises:
        AssistantError: as `admin_requests.handle_request`.
    """
    request = {**request, "user": settings.general.user}

    def answer() -> Iterator[Row]:
        # This import takes a second; asking a running assistant doesn't need it.
        from assistant.compose import open_command_memory

        with ExitStack() as stack:
            if unlocked is not None:
                vault = unlocked()
            else:
                vault = stack.enter_context(closing(unlock(home, settings)))
            memory = stack.enter_context(open_command_memory(home, settings, vault, _tell))
            yield from memory.answer(request)

    return ask(home, request, answer)


def _tell(notice: Notice) -> None:
    print(notice.text, file=sys.stderr)
