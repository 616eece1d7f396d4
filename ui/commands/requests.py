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
"""Seconds to wait while another process (an assistant that is starting, or another command) has the
memories open but doesn't accept requests."""


def ask(home: Home, request: Request, otherwise: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The running assistant's answer; if no assistant is running, the answer of `otherwise`.

    Raises:
        AssistantError: the assistant or `otherwise` reported it.
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
        unlocked: returns the home's vault, which is left open. By default, the vault is opened for
            the request and closed again.

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
