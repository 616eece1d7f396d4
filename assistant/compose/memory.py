"""Opens the memories of a home, with the encoder of its settings."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from assistant.compose.engines import build_query_encoder
from assistant.encryption import MasterKey, Vault, open_vault
from assistant.events import Event, Notice
from assistant.memory import (
    MemoryService,
    QueryEncoder,
    open_memory,
)
from assistant.paths import Home
from assistant.settings import Settings
from models.selection import select_models

logger = logging.getLogger(__name__)


def profile_encoder(settings: Settings) -> QueryEncoder:
    """The encoder of the settings. Raises ModelMissing if it was not pulled."""
    return build_query_encoder(select_models(settings), settings.memory.encoder)


def open_home_memory(
    home: Home, settings: Settings, key: MasterKey | None, emit: Callable[[Event], None]
) -> MemoryService:
    """Open a home's memory with the encoder of its settings. Blocking; see `open_memory`."""
    return open_memory(home, settings, key, lambda: profile_encoder(settings), emit)


@contextmanager
def open_command_memory(
    home: Home,
    settings: Settings,
    tell: Callable[[Notice], None] | None = None,
    vault: Vault | None = None,
) -> Iterator[MemoryService]:
    """Open the memories for a command, when no assistant has them open. Blocking.

    Args:
        tell: called with notices about a damaged store and purges. Default: log them.
        vault: the home's; stays open. Default: opened without prompting anyone.

    Raises:
        StoreError: the memories can't be opened. StoreInUse: another process has them open.
    """
    home.create()
    with ExitStack() as stack:
        if vault is None:
            vault = open_vault(home, settings)
            stack.callback(vault.close)

        def emit(event: Event) -> None:
            if isinstance(event, Notice):
                (tell or log_notice)(event)

        yield stack.enter_context(open_home_memory(home, settings, vault.key, emit))


def log_notice(event: Event) -> None:
    """Log a notice, where there is no user to show it to."""
    if isinstance(event, Notice):
        logger.warning("%s", event.text)
