"""Sends requests to the running assistant. If none is running, the command answers them itself."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

from assistant.encryption import Vault
from assistant.errors import StoreInUse
from assistant.events import Notice
from assistant.ipc import NOT_SERVED, Request, Row, send_request
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.passphrase import unlock

STARTING_S = 10.0
"""Maximum seconds to wait while another process has the memories open but doesn't accept requests.
The other process is an assistant that is starting, or a command."""


def ask(home: Home, request: Request, otherwise: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """Send a request to the running assistant, and yield the rows of its answer.

    Args:
        otherwise: answers the request if no assistant is running, or if the running one doesn't
            serve such requests.

    Raises:
        AssistantError: the assistant or `otherwise` could not carry out the request.
    """
    until = time.monotonic() + STARTING_S
    while True:
        answered = send_request(home.door, request)
        try:
            yield from otherwise() if answered is None else _unless_left(answered, otherwise)
            return
        except StoreInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _unless_left(answered: Iterator[Row], otherwise: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """Yield the assistant's answer or, if it doesn't serve the request, that of `otherwise`."""
    first = next(answered, None)
    if first == NOT_SERVED:
        yield from otherwise()
    elif first is not None:
        yield first
        yield from answered


def ask_memory(
    home: Home, settings: Settings, request: Request, unlocked: Callable[[], Vault] | None = None
) -> Iterator[Row]:
    """Yield the rows that answer a request about memories.

    Args:
        unlocked: returns the home's vault, which is not closed afterwards. By default, the vault is
            opened for this request and closed again.

    Raises:
        SettingsError: the request is malformed.
        StoreError: the memories can't be opened, or the request can't be carried out.
        ModelError: the request needs a model, and this model failed.
    """
    request = {**request, "user": settings.general.user}

    def answer() -> Iterator[Row]:
        # This import takes a second, and is only needed if no assistant is running.
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
