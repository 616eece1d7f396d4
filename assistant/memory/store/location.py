"""Where the memories are stored."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from assistant.encryption import MasterKey
from assistant.errors import SettingsError
from assistant.memory.store.open_table import folder_of
from assistant.paths import Home
from assistant.settings import Settings


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """Where a home's memories are stored.

    `uri` is a folder's path, or an object store's address without credentials. The file `marker`
    exists while the store is being read. `key` is the key of an encrypted home.
    """

    uri: str
    marker: Path
    key: MasterKey | None = field(default=None, repr=False)

    @property
    def folder(self) -> Path | None:
        """The store's folder; None for an object store."""
        return folder_of(self.uri)


def store_location(home: Home, settings: Settings, key: MasterKey | None = None) -> StoreLocation:
    """The location that the settings name.

    Raises:
        SettingsError: the address contains credentials; the message does not repeat them.
    """
    marker = home.root / "memories.reading"
    named = settings.memory.store
    if not named:
        return StoreLocation(str(home.memories), marker, key)
    if "://" not in named:
        return StoreLocation(str(home.root / Path(named).expanduser()), marker, key)
    parts = urlsplit(named)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            "The setting `memory.store` must be only an address: credentials belong in the"
            " environment.",
            mend="assistant config set memory.store s3://BUCKET/PATH, and set AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY.",
        )
    return StoreLocation(named, marker, key)
