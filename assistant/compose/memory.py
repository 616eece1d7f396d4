"""Opens a home's memories with the encoder of its settings, and builds the tool that changes the
home's key."""

import logging
from collections.abc import Callable

from assistant.compose.engines import build_query_encoder
from assistant.encryption import MasterKey, Rekeying, Vault
from assistant.events import Event, Notice
from assistant.memory import HomeStores, MemoryService, QueryEncoder, open_memory
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


def open_command_memory(
    home: Home, settings: Settings, vault: Vault, tell: Callable[[Notice], None]
) -> MemoryService:
    """Open the memories for a command, when no assistant has them open. Blocking.

    Args:
        vault: the home's vault; stays open.
        tell: called with notices about a damaged store and purges.

    Raises:
        StoreError: the memories can't be opened. StoreInUse: another process has them open.
    """

    def emit(event: Event) -> None:
        if isinstance(event, Notice):
            tell(event)

    return open_home_memory(home.create(), settings, vault.key, emit)


def log_notice(event: Event) -> None:
    """Log a notice when there is no user to show it to."""
    if isinstance(event, Notice):
        logger.warning("%s", event.text)


def build_rekeying(home: Home, settings: Settings) -> Rekeying:
    return Rekeying(home, settings, HomeStores(home, settings))
