"""Opens a home: finds its encryption key, and locks the home against conversion.

A home is encrypted if it has a key file. The settings decide only whether a new home is encrypted.
Every process that opens a home's stores must first open the home's vault, and close the vault after
the stores.
"""

import logging
import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from assistant.encryption import conversion, system_keyring
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.keys import KeyFile, KeyProtection, MasterKey
from assistant.encryption.sealed_sqlite import (
    BUSY_S,
    SEALED_HEADER,
    connect_sqlite,
    header_of,
    sqlite_failures,
)
from assistant.errors import StoreLocked
from assistant.paths import Home
from assistant.settings import Settings

logger = logging.getLogger(__name__)

PASSPHRASE_VARIABLE = "ASSISTANT_PASSPHRASE"
NEW_PASSPHRASE_VARIABLE = "ASSISTANT_NEW_PASSPHRASE"
LEAST_PASSPHRASE = 8
"""Minimum number of characters of a passphrase."""

SecretKind = Literal["passphrase", "new passphrase", "recovery key"]
AskSecret = Callable[[SecretKind], str | None]
"""Asks the user for a secret. Returns None if nobody can be asked."""


def ask_nobody(_: SecretKind) -> None:
    return None


@dataclass(slots=True)
class Vault:
    """The key and the lock of an open home.

    Args:
        key: None if the home is not encrypted.
        recovery: the recovery key, if the key was just created. It must be shown once.
        told: a message to the user if the home could not be encrypted as the settings ask.
    """

    key: MasterKey | None
    lock: HomeLock
    recovery: str | None = None
    told: str | None = None

    def close(self) -> None:
        """Release the lock. Call this after closing the stores. Idempotent."""
        self.lock.release()


def open_vault(
    home: Home, settings: Settings, ask: AskSecret = ask_nobody, *, create: bool = False
) -> Vault:
    """Lock a home and get its key, if the home is encrypted. Blocking.

    Args:
        create: whether to create a key for a new home if the settings ask for encryption. If a key
            is created, the caller must show `Vault.recovery` to the user.

    Raises:
        StoreLocked: the key of encrypted data is missing or wrong, or the data is plain although
            the settings ask for encryption. Nothing was changed.
        StoreInUse: the home is being converted.
        StoreError: an interrupted conversion can't be completed.
    """
    home.create()
    if conversion.is_unfinished(home):
        alone = HomeLock(home, alone=True)
        try:
            conversion.finish_or_roll_back(home)
        finally:
            alone.release()
    mode = settings.encryption.mode
    if mode == "auto" and settings.memory.store:
        create = False  # an external store may have a key already, which its owner must provide
    if create and not home.key_file.exists() and not has_data(home) and _wanted(mode):
        return _create(home, mode, ask)
    lock = HomeLock(home, alone=False)
    if conversion.is_unfinished(home):  # another process was killed in the meantime
        lock.release()
        return open_vault(home, settings, ask, create=create)
    with ExitStack() as on_failure:
        on_failure.callback(lock.release)
        locked = KeyFile.read(home.key_file)
        key = None
        if locked is not None:
            key = unlock_key(locked, ask)
            check_transcript(home, key)
        else:
            _check_plain(home, mode)
        on_failure.pop_all()
    return Vault(key, lock)


def has_data(home: Home) -> bool:
    memories = home.memories / "memories.lance"
    return bool(header_of(home.transcript)) or memories.exists()


def unlock_key(locked: KeyFile, ask: AskSecret) -> MasterKey:
    """Decrypt the key of a key file. Raises StoreLocked if the secret is missing or wrong."""
    if locked.by == "keyring":
        return locked.unlock(system_keyring.entry(locked.id))
    return locked.unlock(_secret("passphrase", ask, PASSPHRASE_VARIABLE))


def lock_key(key: MasterKey, by: KeyProtection, ask: AskSecret, *, anew: bool = False) -> KeyFile:
    """Encrypt the key for a key file. If the keyring protects the key, also write the keyring's
    entry.

    Args:
        anew: whether a passphrase is being replaced. If so, the environment variable with the old
            passphrase is ignored.

    Raises:
        StoreLocked: there is no keyring or no passphrase.
    """
    if by == "passphrase":
        variables = [NEW_PASSPHRASE_VARIABLE, *(() if anew else (PASSPHRASE_VARIABLE,))]
        return KeyFile.locked(key, by, _long_enough(_secret("new passphrase", ask, *variables)))
    secret = secrets.token_hex(32)
    system_keyring.write(key.id, secret)
    return KeyFile.locked(key, by, secret)


def check_transcript(home: Home, key: MasterKey) -> None:
    """Raise StoreLocked if the transcript is plain, or encrypted with another key. Damage is only
    logged here. It is reported when the transcript is opened for use."""
    if not header_of(home.transcript):
        return
    try:
        connect_sqlite(home.transcript, key, BUSY_S).close()
    except sqlite_failures() as error:
        logger.warning("the transcript can't be checked: %s", error)


# -- internals ----------------------------------------------------------------------------------


def _wanted(mode: str) -> bool:
    return mode != "off" and (mode != "auto" or system_keyring.find_keyring() is not None)


def _create(home: Home, mode: str, ask: AskSecret) -> Vault:
    """Create a key for a new home. If the keyring fails and the mode is `auto`, leave the home
    plain and set `Vault.told`."""
    lock = HomeLock(home, alone=True)
    with ExitStack() as on_failure:
        on_failure.callback(lock.release)
        key, told = MasterKey.new(), None
        try:
            locked = lock_key(key, "passphrase" if mode == "passphrase" else "keyring", ask)
        except StoreLocked as error:
            if mode != "auto":
                raise
            told = f"{error} What you say is stored unencrypted."
        else:
            locked.write(home.key_file)
        on_failure.pop_all()
    lock.share()
    return Vault(None, lock, told=told) if told else Vault(key, lock, key.recovery())


def _check_plain(home: Home, mode: str) -> None:
    """Raise StoreLocked if the home has no key file but should have one."""
    if header_of(home.transcript) == SEALED_HEADER:
        raise StoreLocked(
            f"The data in {home.root} is encrypted, but its key file is missing;"
            " nothing was touched.",
            mend=f"Put {home.key_file.name} back, or run: assistant encryption recover",
        )
    if mode in ("keyring", "passphrase") and has_data(home):
        raise StoreLocked(
            f"The setting `encryption.mode` is {mode}, but the data in {home.root} is"
            " not encrypted.",
            mend="assistant encryption enable",
        )


def _secret(question: SecretKind, ask: AskSecret, *variables: str) -> str:
    """Get a secret from the first of `variables` that is set, or else by asking the user. Raises
    StoreLocked if nobody can be asked."""
    given = next(filter(None, map(os.environ.get, variables)), None) or ask(question)
    if given is None:
        raise StoreLocked(
            "A passphrase is needed, but there is nobody to ask for it; nothing was touched.",
            mend=f"Run the command in a terminal, or set the environment variable {variables[-1]}.",
        )
    return given


def _long_enough(passphrase: str) -> str:
    if len(passphrase) < LEAST_PASSPHRASE:
        raise StoreLocked(
            f"A passphrase of fewer than {LEAST_PASSPHRASE} characters is too weak;"
            " nothing was touched.",
            mend="Choose a longer one: several words that you don't use elsewhere.",
        )
    return passphrase
