"""Stores secrets in the operating system's keyring: macOS Keychain, Secret Service, KWallet or
Windows Credential Locker. Each home that uses the keyring has an entry, under the id of the home's
key."""

import logging
from typing import TYPE_CHECKING

from assistant.errors import StoreLocked

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

logger = logging.getLogger(__name__)

SERVICE = "local-voice-assistant"
LEAST_PRIORITY = 1
"""Minimum priority of a backend that the user has not chosen explicitly. The library `keyring`
advises against backends with a lower priority, such as a plain-text file."""


def find_keyring() -> "KeyringBackend | None":
    """Return the keyring that the user chose in PYTHON_KEYRING_BACKEND or in the configuration file
    of `keyring`. Without a choice, return this system's best keyring, or None if it has none."""
    from keyring import backend, core
    from keyring.backends import chainer, fail, null

    no_real_ones = (chainer.ChainerBackend, fail.Keyring, null.Keyring)
    try:
        chosen = core.load_env() or core.load_config()
        if chosen is not None:
            return None if isinstance(chosen, no_real_ones[1:]) else chosen
        real = [each for each in backend.get_all_keyring() if not isinstance(each, no_real_ones)]
        good = [each for each in real if each.priority >= LEAST_PRIORITY]
        return max(good, key=backend.by_priority, default=None)
    except (ImportError, AttributeError, RuntimeError) as error:
        logger.warning("no keyring: %s", error)
        return None


def entry(key_id: str) -> str:
    """Return the secret stored for a key.

    Raises:
        StoreLocked: there is no keyring, it is locked, or it has no entry for this key.
    """
    mend = "Unlock the system's keyring and try again, or: assistant encryption recover"
    keyring = _needed("The key of this data is in a keyring, but this system has no keyring")
    from keyring.errors import KeyringError

    try:
        secret = keyring.get_password(SERVICE, key_id)
    except (KeyringError, OSError, RuntimeError) as error:
        logger.warning("the keyring failed: %s", error)
        raise StoreLocked(
            "The system's keyring does not return the key of this data; nothing was touched.",
            mend=mend,
        ) from error
    if not secret:
        raise StoreLocked(
            "The system's keyring has no key for this data; nothing was touched.", mend=mend
        )
    return secret


def write(key_id: str, secret: str) -> None:
    """Store a secret for a key.

    Raises:
        StoreLocked: there is no keyring, or it does not store the secret.
    """
    keyring = _needed("There is no keyring on this system")
    from keyring.errors import KeyringError

    try:
        keyring.set_password(SERVICE, key_id, secret)
        kept = keyring.get_password(SERVICE, key_id)
    except (KeyringError, OSError, RuntimeError) as error:
        logger.warning("the keyring failed: %s", error)
        kept = None
    if kept != secret:
        raise StoreLocked(
            "The system's keyring does not accept the key.",
            mend="Unlock it and try again, or use a passphrase: assistant encryption enable"
            " --passphrase",
        )


def remove(key_id: str) -> None:
    """Delete the entry for a key, if it exists. A failure is only logged, because the remaining
    secret is useless without the key file."""
    keyring = find_keyring()
    if keyring is None:
        return
    from keyring.errors import KeyringError

    try:
        keyring.delete_password(SERVICE, key_id)
    except (KeyringError, OSError, RuntimeError) as error:
        logger.warning("an entry could not be removed from the keyring: %s", error)


def _needed(otherwise: str) -> "KeyringBackend":
    keyring = find_keyring()
    if keyring is None:
        raise StoreLocked(
            f"{otherwise}; nothing was touched.",
            mend="Start the assistant in the desktop session that has the keyring, or use the"
            " recovery key and a passphrase: assistant encryption recover --passphrase",
        )
    return keyring
