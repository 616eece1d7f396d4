"""What changes a home's key: encrypting it, undoing that, and mending a lost or forgotten secret.

Each has the home alone meanwhile, and leaves it as it was when it fails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant.encryption import conversion, system_keyring
from assistant.encryption.conversion import HomeStores
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.keys import KeyFile, KeyProtection, MasterKey
from assistant.encryption.sealed_sqlite import PLAIN_HEADER, SEALED_HEADER, header_of
from assistant.encryption.vault import (
    AskSecret,
    check_transcript,
    has_data,
    lock_key,
    recovery_key,
    unlock_key,
)
from assistant.errors import SettingsError, StoreLocked
from assistant.paths import Home
from assistant.settings import Settings

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EncryptionStatus:
    """`keyring` is the name of the system's, None where there is none; `state` is damaged where the
    key file is, and missing where there are encrypted files without one."""

    state: Literal["encrypted", "plain", "empty", "damaged", "missing"]
    by: KeyProtection | None
    key_id: str | None
    keyring: str | None


def encryption_status(home: Home) -> EncryptionStatus:
    """Looks at the home without opening it."""
    keyring = system_keyring.find_keyring()
    name = keyring.name if keyring is not None else None
    try:
        locked = KeyFile.read(home.key_file)
    except StoreLocked:
        return EncryptionStatus("damaged", None, None, name)
    if locked is not None:
        return EncryptionStatus("encrypted", locked.by, locked.id, name)
    if header_of(home.transcript) == SEALED_HEADER:
        return EncryptionStatus("missing", None, None, name)
    return EncryptionStatus("plain" if has_data(home) else "empty", None, None, name)


class Rekeying:
    """
    Args:
        stores: of the home.
    """

    def __init__(self, home: Home, settings: Settings, stores: HomeStores) -> None:
        self._home = home
        self._settings = settings
        self._stores = stores

    def enable(
        self,
        by: KeyProtection | None,
        ask: AskSecret,
        show: Callable[[str], None],
        tell: Notify,
    ) -> MasterKey:
        """Encrypt a home under a new key.

        Args:
            by: default: what the settings say, or the keyring where there is one.
            show: gets the recovery key, before anything depends on it.
            tell: hears what is being done, and in the end what stays as it was.

        Raises:
            SettingsError: it is encrypted already, or the memories are kept elsewhere.
            StoreError: it can't be done; nothing was changed, and the recovery key is worth
                nothing.
        """
        self._refuse_outside()
        home = self._home
        with _alone(home):
            if KeyFile.read(home.key_file) is not None:
                raise SettingsError(
                    "The data is encrypted already.", mend="assistant encryption status"
                )
            key = MasterKey.new()
            locked = lock_key(key, by or _by(self._settings), ask)
            show(key.recovery())
            try:
                conversion.convert(home, self._stores, None, key, locked, tell)
            finally:
                needed = conversion.is_committed(home) or home.key_file.exists()
                if locked.by == "keyring" and not needed:
                    system_keyring.remove(key.id)
            _tell_of_damaged(self._stores.damaged(), tell)
        return key

    def disable(self, ask: AskSecret, tell: Notify) -> None:
        """Decrypt a home.

        Raises:
            SettingsError: it is plain already, or the memories are kept elsewhere.
            StoreError: it can't be done; nothing was changed.
        """
        self._refuse_outside()
        with _alone(self._home):
            locked = _locked(self._home)
            key = unlock_key(locked, ask)
            conversion.convert(self._home, self._stores, key, None, None, tell)
            if locked.by == "keyring":
                system_keyring.remove(locked.id)

    def change_passphrase(self, ask: AskSecret) -> None:
        """Another passphrase, or one in place of the keyring. The recovery key stays what it is.

        Raises:
            SettingsError: the home is plain.
            StoreError: it can't be done; nothing was changed.
        """
        with _alone(self._home):
            locked = _locked(self._home)
            fresh = lock_key(unlock_key(locked, ask), "passphrase", ask, anew=True)
            fresh.write(self._home.key_file)
            if locked.by == "keyring":
                system_keyring.remove(locked.id)

    def recover(self, by: KeyProtection | None, ask: AskSecret) -> KeyProtection:
        """A new key file from the recovery key: for a lost keyring, a forgotten passphrase, a
        damaged or missing key file, or a second machine that shares the memories, whose transcript
        is then encrypted with it; returns what it is locked by.

        Raises:
            SettingsError: the home is plain.
            StoreError: it is not the key of this data, or it can't be done; nothing was changed.
        """
        home = self._home
        with _alone(home):
            try:
                before = KeyFile.read(home.key_file)
            except StoreLocked:  # that is what is to be mended
                before = None
            plain = before is None and header_of(home.transcript) == PLAIN_HEADER
            if plain and not self._stores.outside:
                raise SettingsError(
                    "The data is not encrypted.", mend="assistant encryption status"
                )
            key = recovery_key(ask)
            if before is not None and before.id != key.id:
                raise StoreLocked(
                    "This is the recovery key of other data; nothing was touched.",
                    mend="Look for the one that was printed when this data was encrypted.",
                )
            if not plain:
                check_transcript(home, key)
            self._stores.check_key(key)
            fresh = lock_key(key, by or _by(self._settings), ask)
            if plain:
                conversion.convert(home, self._stores, None, key, fresh)
            else:
                fresh.write(home.key_file)
        return fresh.by

    def _refuse_outside(self) -> None:
        """Raises SettingsError: others may be using them; a conversion changes every one."""
        if self._stores.outside:
            raise SettingsError(
                f"The memories are kept in {self._settings.memory.store}, outside of the data"
                " folder, and are not converted there.",
                mend="assistant memory export FILE; without `memory.store` convert, import FILE,"
                " and then name an empty store.",
            )


def _tell_of_damaged(damaged: Sequence[Path], tell: Notify) -> None:
    """What can't be read as a whole can't be encrypted, and nobody asked to delete it."""
    if names := [path.name for path in damaged]:
        tell(
            "Not encrypted with the rest is what was set aside as damaged; delete it, or move it to"
            f" where it is safe: {', '.join(names)}"
        )


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    home.create()
    lock = HomeLock(home, alone=True)
    try:
        conversion.finish_or_roll_back(home)
        yield
    finally:
        lock.release()


def _locked(home: Home) -> KeyFile:
    locked = KeyFile.read(home.key_file)
    if locked is None:
        raise SettingsError("The data is not encrypted.", mend="assistant encryption enable")
    return locked


def _by(settings: Settings) -> KeyProtection:
    mode = settings.encryption.mode
    if mode == "passphrase" or (mode != "keyring" and system_keyring.find_keyring() is None):
        return "passphrase"
    return "keyring"
