"""Sends requests about memories to the running assistant, or opens them if none is running."""

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


def answers(
    home: Home, settings: Settings, request: Request, unlocked: Callable[[], Vault] | None = None
) -> Iterator[Row]:
    """Answer a request, by the running assistant or from the memories themselves.

    Args:
        unlocked: the home's vault, left open. Default: it is opened and closed again.

    Raises:
        AssistantError: as `admin_requests.handle_request`.
    """
    request = {**request, "user": settings.general.user}
    until = time.monotonic() + STARTING_S
    while True:
        answered = send_request(home.door, request)
        if answered is not None:
            yield from answered
            return
        # These imports take a second; asking a running assistant doesn't need them.
        from assistant.compose import open_command_memory

        try:
            with ExitStack() as stack:
                if unlocked is not None:
                    vault = unlocked()
                else:
                    vault = stack.enter_context(closing(unlock(home, settings)))
                memory = stack.enter_context(
                    open_command_memory(home, settings, tell=_tell, vault=vault)
                )
                yield from memory.answer(request)
            return
        except StoreInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _tell(notice: Notice) -> None:
    print(notice.text, file=sys.stderr)


def lines_of_stdin() -> list[str]:
    """Lines of standard input; none if that is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return []
    content = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    return [line.strip() for line in content.splitlines() if line.strip()]
