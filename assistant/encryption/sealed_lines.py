"""Encrypts and decrypts recordings, line by line."""

import base64
import binascii
import json
import secrets
from typing import Any

from assistant.encryption.keys import NONCE_BYTES, MasterKey

PURPOSE = "recordings"


class LineCipher:
    """Encrypts and decrypts the lines of one recording."""

    def __init__(self, recording: str, key: MasterKey | None) -> None:
        """Prepare for one recording.

        Args:
            recording: the recording's id. Lines are bound to it, so that lines from another
                recording can't be inserted.
            key: the home's key; None if the lines are not encrypted.
        """
        self._place = recording.encode()
        self._cipher = None
        if key is not None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._cipher = AESGCM(key.derive(PURPOSE))

    def close(self, row: dict[str, Any]) -> str:
        plain = json.dumps(row, ensure_ascii=False)
        if self._cipher is None:
            return plain
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, plain.encode("utf-8", "replace"), self._place)
        return base64.b64encode(nonce + sealed).decode()

    def open(self, line: bytes) -> dict[str, Any] | None:
        """Decrypt and parse a line. Return None if the line is damaged."""
        from cryptography.exceptions import InvalidTag

        try:
            if self._cipher is not None:
                raw = base64.b64decode(line, validate=True)
                nonce, sealed = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
                line = self._cipher.decrypt(nonce, sealed, self._place)
            row = json.loads(line)
        except (InvalidTag, binascii.Error, ValueError):
            return None
        whole = isinstance(row, dict) and isinstance(row.get("event"), dict) and "at" in row
        return row if whole else None
