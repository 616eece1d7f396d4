"""Asks the running assistant about memories, or opens them where none runs."""

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
"""For how long another process may have the memories open without opening its door: an assistant
that starts, or another of these commands."""


def answers(
    home: Home, settings: Settings, request: Request, unlocked: Callable[[], Vault] | None = None
) -> Iterator[Row]:
    """From the running assistant, or from the memories themselves.

    Args:
        unlocked: the home's vault, left open. Default: it is opened, and closed afterwards.

    Raises:
        AssistantError: as the desk's, wherever it stands.
    """
    request = {**request, "user": settings.general.user}
    until = time.monotonic() + STARTING_S
    while True:
        answered = send_request(home.door, request)
        if answered is not None:
            yield from answered
            return
        # A second's worth of imports, which asking does without.
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
    """Lines of standard input, unless somebody sits there who was not asked for any."""
    if sys.stdin is None or sys.stdin.isatty():
        return []
    content = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    return [line.strip() for line in content.splitlines() if line.strip()]
