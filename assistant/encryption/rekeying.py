"""Encrypts or decrypts a home, and replaces a lost or forgotten secret.

Each operation locks the home exclusively. If an operation fails, it leaves the home unchanged.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    unlock_key,
)
from assistant.errors import SettingsError, StoreError, StoreLocked
from assistant.paths import Home
from assistant.settings import Settings

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EncryptionStatus:
    """Whether and how a home is encrypted.

    `state` is "damaged" if the key file is damaged, and "missing" if files are encrypted but the
    key file is missing. `keyring` is the name of the system's keyring, or None if the system has
    none.
    """

    state: Literal["encrypted", "plain", "empty", "damaged", "missing"]
    by: KeyProtection | None
    key_id: str | None
    keyring: str | None


def encryption_status(home: Home) -> EncryptionStatus:
    """Return the encryption status of a home, without opening the home."""
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
    """Changes the encryption of one home.

    Args:
        stores: the home's stores.
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
        """Encrypt a home with a new key.

        Args:
            by: what protects the key. If None, the setting `encryption.mode` decides. If the mode
                is `auto` or `off`, the keyring is used if there is one, otherwise a passphrase.
            show: called with the recovery key before any data is encrypted.
            tell: called with the progress, and at the end with the files that stay unencrypted.

        Raises:
            SettingsError: the home is already encrypted, or its memories are stored outside the
                home.
            StoreError: encrypting failed. Nothing was changed, and the recovery key that was shown
                is void.
        """
        self._refuse_outside()
        home = self._home
        with _alone(home):
            if KeyFile.read(home.key_file) is not None:
                raise SettingsError(
                    "The data is already encrypted.", mend="assistant encryption status"
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
            if names := [path.name for path in self._stores.damaged()]:
                tell(
                    f"Damaged files set aside were not encrypted: {', '.join(names)}. Delete them,"
                    " or move them to a safe place."
                )
        return key

    def disable(self, ask: AskSecret, tell: Notify) -> None:
        """Decrypt a home.

        Raises:
            SettingsError: the home is not encrypted, or its memories are stored outside the home.
            StoreError: decrypting failed. Nothing was changed.
        """
        self._refuse_outside()
        with _alone(self._home):
            locked = _locked(self._home)
            key = unlock_key(locked, ask)
            conversion.convert(self._home, self._stores, key, None, None, tell)
            if locked.by == "keyring":
                system_keyring.remove(locked.id)

    def change_passphrase(self, ask: AskSecret) -> None:
        """Protect the key with a new passphrase, in place of the old passphrase or of the keyring.
        The recovery key stays the same.

        Raises:
            SettingsError: the home is not encrypted.
            StoreError: the passphrase can't be changed. Nothing was changed.
        """
        with _alone(self._home):
            locked = _locked(self._home)
            fresh = lock_key(unlock_key(locked, ask), "passphrase", ask, anew=True)
            fresh.write(self._home.key_file)
            if locked.by == "keyring":
                system_keyring.remove(locked.id)

    def recover(self, by: KeyProtection | None, ask: AskSecret) -> KeyProtection:
        """Create a new key file from the recovery key. This is needed if the keyring, the
        passphrase or the key file is lost, and on a second machine that shares the memories. If the
        second machine's home is still plain, it is encrypted with the key, too.

        Returns:
            What protects the new key file.

        Raises:
            SettingsError: the home is plain, and its memories are not stored outside it.
            StoreError: the key belongs to other data, or recovery failed. Nothing was changed.
        """
        home = self._home
        with _alone(home):
            try:
                before = KeyFile.read(home.key_file)
            except StoreLocked:  # the key file is damaged, and is replaced here
                before = None
            plain = before is None and header_of(home.transcript) == PLAIN_HEADER
            if plain and not self._stores.outside:
                raise SettingsError(
                    "The data is not encrypted.", mend="assistant encryption status"
                )
            key = _recovery_key(ask)
            if before is not None and before.id != key.id:
                raise StoreLocked(
                    "This recovery key belongs to other data; nothing was touched.",
                    mend="Look for the one printed when this data was encrypted.",
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
        """Raise SettingsError if the memories are stored outside the home, where other homes may
        use them."""
        if self._stores.outside:
            raise SettingsError(
                f"The memories are stored in {self._settings.memory.store}, outside the data"
                " folder, where they can't be encrypted or decrypted.",
                mend="First export the memories: assistant memory export FILE. Then unset"
                " `memory.store`, run this command again, set `memory.store` to an empty store, and"
                " import FILE.",
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


def _recovery_key(ask: AskSecret) -> MasterKey:
    """Ask for the recovery key. Raises StoreError if nobody can be asked, and StoreLocked if the
    key is mistyped."""
    typed = ask("recovery key")
    if typed is None:
        raise StoreError(
            "The recovery key is needed, but there is nobody to ask for it.",
            mend="Run the command in a terminal, or pass the recovery key on standard input.",
        )
    return MasterKey.from_recovery(typed)
