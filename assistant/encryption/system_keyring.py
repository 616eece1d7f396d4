"""The operating system's keyring: macOS Keychain, Secret Service, KWallet, Windows Credential
Locker. It holds one entry for each home that uses it, under the id of the home's key."""

import logging
from typing import TYPE_CHECKING

from assistant.errors import StoreLocked

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

logger = logging.getLogger(__name__)

SERVICE = "local-voice-assistant"
LEAST_PRIORITY = 1
"""Of backends that nobody chose: those below it, as `keyring` says, are not recommended (a file in
plain text is one of them)."""


def find_keyring() -> "KeyringBackend | None":
    """The keyring that the person chose (as `keyring` itself does: PYTHON_KEYRING_BACKEND or its
    configuration file), else the best of this system; None where there is none."""
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
    """
    Raises:
        StoreLocked: there is no keyring, it stays locked, or it has no entry for this key.
    """
    mend = "Unlock the system's keyring and try again, or: assistant encryption recover"
    keyring = _needed("The key of this data lies in the system's keyring, and there is none here")
    from keyring.errors import KeyringError

    try:
        secret = keyring.get_password(SERVICE, key_id)
    except (KeyringError, OSError, RuntimeError) as error:
        logger.warning("the keyring failed: %s", error)
        raise StoreLocked(
            "The system's keyring does not give the key of this data; nothing was touched.",
            mend=mend,
        ) from error
    if not secret:
        raise StoreLocked(
            "The system's keyring holds no key of this data; nothing was touched.", mend=mend
        )
    return secret


def write(key_id: str, secret: str) -> None:
    """
    Raises:
        StoreLocked: there is no keyring, or it does not keep what is given to it.
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
            "The system's keyring does not take the key.",
            mend="Unlock it and try again, or take a passphrase: assistant encryption enable"
            " --passphrase",
        )


def remove(key_id: str) -> None:
    """If it is there. A keyring that keeps it keeps a key to nothing."""
    keyring = find_keyring()
    if keyring is None:
        return
    from keyring.errors import KeyringError

    try:
        keyring.delete_password(SERVICE, key_id)
    except (KeyringError, OSError, RuntimeError) as error:
        logger.warning("an entry stays in the keyring: %s", error)


def _needed(otherwise: str) -> "KeyringBackend":
    keyring = find_keyring()
    if keyring is None:
        raise StoreLocked(
            f"{otherwise}; nothing was touched.",
            mend="Start it where the keyring is, or with the recovery key and a passphrase:"
            " assistant encryption recover --passphrase",
        )
    return keyring
