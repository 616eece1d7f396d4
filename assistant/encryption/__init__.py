"""Encryption keys, and access to the files encrypted with them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.encryption.home_lock import HomeLock
    from assistant.encryption.keys import NONCE_BYTES, KeyProtection, MasterKey
    from assistant.encryption.rekeying import EncryptionStatus, Rekeying, encryption_status
    from assistant.encryption.sealed_lines import LineCipher
    from assistant.encryption.sealed_sqlite import (
        BUSY_S,
        PLAIN_HEADER,
        SORTS_IN_RAM,
        connect_sqlite,
        header_of,
        key_literal,
        sqlite_failures,
    )
    from assistant.encryption.vault import PASSPHRASE_VARIABLE, SecretKind, Vault, open_vault
else:
    __getattr__ = exports(__name__)

__all__ = [
    "BUSY_S",
    "NONCE_BYTES",
    "PASSPHRASE_VARIABLE",
    "PLAIN_HEADER",
    "SORTS_IN_RAM",
    "EncryptionStatus",
    "HomeLock",
    "KeyProtection",
    "LineCipher",
    "MasterKey",
    "Rekeying",
    "SecretKind",
    "Vault",
    "connect_sqlite",
    "encryption_status",
    "header_of",
    "key_literal",
    "open_vault",
    "sqlite_failures",
]
