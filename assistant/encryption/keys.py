"""The master key of a home, and the file that stores it encrypted.

A home has one 256-bit master key. The recovery key is the master key as text, which the user writes
down. It opens the stores if the key file is lost or damaged, and on a second machine that shares
them. The keys that encrypt data are derived from the master key by HKDF-SHA256, one per purpose.

The key file contains the master key, encrypted with AES-256-GCM. The encrypting key comes either
from a random secret in the operating system's keyring, or from a passphrase that Argon2id stretches
(RFC 9106, second recommendation).
"""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assistant.errors import StoreError, StoreLocked
from assistant.paths import replacing

BYTES = 32
NONCE_BYTES = 12
SALT_BYTES = 16
VERSION = 1
ARGON2 = {"iterations": 3, "lanes": 4, "memory_kib": 1 << 16}
MOST_ARGON2 = {"iterations": 100, "lanes": 64, "memory_kib": 1 << 21}
"""Maximum values accepted from a key file. A damaged file could contain any values."""
CHECK_BYTES = 3
GROUP = 4
"""Number of characters between two dashes of a recovery key."""

KeyProtection = Literal["keyring", "passphrase"]


@dataclass(frozen=True, slots=True)
class MasterKey:
    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> "MasterKey":
        return cls(secrets.token_bytes(BYTES))

    @property
    def id(self) -> str:
        """An identifier that does not reveal the key. It is stored in the key file and in the
        memory table."""
        return self.derive("id", 8).hex()

    def derive(self, purpose: str, size: int = BYTES) -> bytes:
        """Derive a key of `size` bytes for one purpose."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        info = f"local-voice-assistant/1/{purpose}".encode()
        return HKDF(SHA256(), size, salt=None, info=info).derive(self.secret)

    def recovery(self) -> str:
        """Return the recovery key: the master key and a checksum in base32, divided into groups by
        dashes."""
        text = base64.b32encode(self.secret + _checksum(self.secret)).decode().rstrip("=")
        return "-".join(text[at : at + GROUP] for at in range(0, len(text), GROUP))

    @classmethod
    def from_recovery(cls, typed: str) -> "MasterKey":
        """Parse a recovery key.

        Raises:
            StoreLocked: the text is not a recovery key; something is mistyped.
        """
        text = "".join(typed.split()).replace("-", "").upper()
        try:
            raw = base64.b32decode(text + "=" * (-len(text) % 8))
        except ValueError:
            raw = b""
        secret, check = raw[:BYTES], raw[BYTES:]
        if len(raw) != BYTES + CHECK_BYTES or not hmac.compare_digest(check, _checksum(secret)):
            raise StoreLocked(
                "This is not a recovery key: a character is missing or mistyped.",
                mend="Type it as it was printed; dashes and capitals don't matter.",
            )
        return cls(secret)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """An encrypted master key, with its id, the kind of protection and the parameters for
    decryption."""

    id: str
    by: KeyProtection
    nonce: bytes
    sealed: bytes
    salt: bytes = b""
    """Salt of the passphrase; empty if the keyring protects the key."""
    argon2: tuple[int, int, int] = (0, 0, 0)
    """Iterations, lanes and KiB of memory."""

    @classmethod
    def locked(cls, key: MasterKey, by: KeyProtection, secret: str) -> "KeyFile":
        """Encrypt a master key.

        Args:
            secret: the passphrase, or the secret in the keyring's entry.
        """
        salt = secrets.token_bytes(SALT_BYTES) if by == "passphrase" else b""
        cost = (ARGON2["iterations"], ARGON2["lanes"], ARGON2["memory_kib"])
        cost = cost if by == "passphrase" else (0, 0, 0)
        open_file = cls(key.id, by, secrets.token_bytes(NONCE_BYTES), b"", salt, cost)
        sealed = open_file._cipher(secret).encrypt(open_file.nonce, key.secret, open_file._bound())
        return cls(key.id, by, open_file.nonce, sealed, salt, cost)

    def unlock(self, secret: str) -> MasterKey:
        """Decrypt the master key.

        Raises:
            StoreLocked: the passphrase or keyring entry is wrong.
        """
        from cryptography.exceptions import InvalidTag

        try:
            key = MasterKey(self._cipher(secret).decrypt(self.nonce, self.sealed, self._bound()))
        except InvalidTag:
            raise self._refused() from None
        if not hmac.compare_digest(key.id, self.id):
            raise self._refused()
        return key

    def dumps(self) -> str:
        lock: dict[str, Any] = {"by": self.by, "nonce": self.nonce.hex(), "key": self.sealed.hex()}
        if self.by == "passphrase":
            iterations, lanes, memory = self.argon2
            lock |= {"kdf": "argon2id", "salt": self.salt.hex(), "iterations": iterations}
            lock |= {"lanes": lanes, "memory_kib": memory}
        return json.dumps({"version": VERSION, "id": self.id, "lock": lock}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> "KeyFile | None":
        """Read the key file. Return None if the file does not exist.

        Raises:
            StoreLocked: the file is damaged, or was written by a newer version.
            StoreError: the file can't be read.
        """
        try:
            content = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"The key file {path} can't be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise _damaged(path) from error
        try:
            found = json.loads(content)
            newer = int(found["version"]) > VERSION
            known = None if newer else _parsed(found)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise _damaged(path) from error
        if known is None:
            raise StoreLocked(
                f"The key file {path} was written by a newer version of this program.",
                mend="Update the program.",
            )
        return known

    def write(self, path: Path) -> None:
        """Write the key file atomically and flush it to disk.

        Raises:
            StoreError: the file can't be written. A previous file is unchanged.
        """
        try:
            with replacing(path) as file:
                file.write(self.dumps().encode())
        except OSError as error:
            why = f"The key file {path} can't be written: {error.strerror}."
            raise StoreError(why, mend="Make its folder writable, or free some space.") from error

    # -- internals ------------------------------------------------------------------------------

    def _cipher(self, secret: str) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self.by == "keyring":
            return AESGCM(hashlib.sha256(secret.encode("utf-8", "replace")).digest())
        from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

        iterations, lanes, memory = self.argon2
        kdf = Argon2id(
            salt=self.salt, length=BYTES, iterations=iterations, lanes=lanes, memory_cost=memory
        )
        return AESGCM(kdf.derive(secret.encode("utf-8", "replace")))

    def _bound(self) -> bytes:
        """Return the data that is authenticated together with the key, so that changes to it are
        detected."""
        return json.dumps([VERSION, self.id, self.by, self.salt.hex(), *self.argon2]).encode()

    def _refused(self) -> StoreLocked:
        what = "passphrase" if self.by == "passphrase" else "key in the system's keyring"
        return StoreLocked(
            f"The {what} is not the right one for this data; nothing was touched.",
            mend="Try again, or use the recovery key: assistant encryption recover",
        )


def _parsed(found: Any) -> KeyFile:
    lock = found["lock"]
    by: KeyProtection = "passphrase" if lock["by"] == "passphrase" else "keyring"
    if lock["by"] != by:
        raise ValueError("it is protected by something unknown")
    cost = (0, 0, 0)
    salt = b""
    if by == "passphrase":
        salt = bytes.fromhex(lock["salt"])
        cost = (int(lock["iterations"]), int(lock["lanes"]), int(lock["memory_kib"]))
        most = (MOST_ARGON2["iterations"], MOST_ARGON2["lanes"], MOST_ARGON2["memory_kib"])
        if len(salt) < SALT_BYTES or any(n < 1 or n > m for n, m in zip(cost, most, strict=True)):
            raise ValueError("the passphrase's parameters are out of range")
        if cost[2] < 8 * cost[1]:
            raise ValueError("Argon2 needs 8 KiB per lane")
    nonce, sealed = bytes.fromhex(lock["nonce"]), bytes.fromhex(lock["key"])
    if len(nonce) != NONCE_BYTES or len(sealed) != BYTES + 16 or not isinstance(found["id"], str):
        raise ValueError("a length is wrong")
    return KeyFile(found["id"], by, nonce, sealed, salt, cost)


def _damaged(path: Path) -> StoreLocked:
    return StoreLocked(
        f"The key file {path} is damaged; nothing was touched.",
        mend="Recreate it from the recovery key: assistant encryption recover",
    )


def _checksum(secret: bytes) -> bytes:
    return hashlib.sha256(b"recovery" + secret).digest()[:CHECK_BYTES]
