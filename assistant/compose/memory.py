"""Opens a home's memories with the configured encoder. Also creates the object that changes the
home's encryption key."""

import logging
from collections.abc import Callable

from assistant.compose.engines import build_query_encoder
from assistant.encryption import MasterKey, Rekeying, Vault
from assistant.events import Event, Notice
from assistant.memory import HomeStores, MemoryService, QueryEncoder, open_memory
from assistant.paths import Home
from assistant.settings import Settings
from assistant.state import StateRequests, StoredWords
from models.selection import select_models

logger = logging.getLogger(__name__)


def profile_encoder(settings: Settings) -> QueryEncoder:
    """Create the configured sentence encoder. Raises ModelMissing if it is not on this machine."""
    return build_query_encoder(select_models(settings), settings.memory.encoder)


def open_home_memory(
    home: Home, settings: Settings, key: MasterKey | None, emit: Callable[[Event], None]
) -> MemoryService:
    """Open a home's memory with the configured encoder, and extend forgetting to the state.
    Blocking. `open_memory` explains the arguments and the errors."""
    memory = open_memory(home, settings, key, lambda: profile_encoder(settings), emit)
    memory.transcript.locations.append(StoredWords(memory.transcript))
    memory.state_outlines = StateRequests(memory.transcript).outlines
    return memory


def open_command_memory(
    home: Home, settings: Settings, vault: Vault, tell: Callable[[Notice], None]
) -> MemoryService:
    """Open a home's memory for a command, while no assistant has it open. Blocking.

    Args:
        vault: the home's vault; stays open.
        tell: called with notices about a damaged store or about purges.

    Raises:
        StoreError: the memories can't be opened.
        StoreInUse: another process has the memories open.
    """

    def emit(event: Event) -> None:
        if isinstance(event, Notice):
            tell(event)

    return open_home_memory(home.create(), settings, vault.key, emit)


def log_notice(event: Event) -> None:
    """Log an event if it is a notice. For use where no user would see the notice."""
    if isinstance(event, Notice):
        logger.warning("%s", event.text)


def build_rekeying(home: Home, settings: Settings) -> Rekeying:
    return Rekeying(home, settings, HomeStores(home, settings))
