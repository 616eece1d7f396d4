"""A keyring in a file, for processes whose environment names it; real ones need a desktop."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError, PasswordSetError

VARIABLE = "TEST_KEYRING_FILE"


def environment(file: Path) -> dict[str, str]:
    """Environment variables that give a process this keyring."""
    return {"PYTHON_KEYRING_BACKEND": f"{__name__}.FileKeyring", VARIABLE: str(file)}


class FileKeyring(KeyringBackend):
    """Stores `{"service/user": "password"}`; it is locked if the file holds the word `locked`."""

    priority = 9

    def get_password(self, service: str, username: str) -> str | None:
        entry: str | None = self._read().get(f"{service}/{username}")
        return entry

    def set_password(self, service: str, username: str, password: str) -> None:
        entries = self._read() | {f"{service}/{username}": password}
        try:
            self._file.write_text(json.dumps(entries))
        except OSError as error:
            raise PasswordSetError(str(error)) from error

    def delete_password(self, service: str, username: str) -> None:
        entries = self._read()
        if entries.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("there is no such entry")
        self._file.write_text(json.dumps(entries))

    @property
    def _file(self) -> Path:
        return Path(os.environ[VARIABLE])

    def _read(self) -> dict[str, str]:
        if not self._file.exists():
            return {}
        content = self._file.read_text()
        if content == "locked":
            raise KeyringLocked("nobody unlocks it")
        entries: dict[str, str] = json.loads(content)
        return entries
