"""Unlocks the user's data: asks for a secret on the terminal, or shows a new recovery key."""

import getpass
import sys
from typing import TextIO

from assistant.encryption import SecretKind, Vault, open_vault
from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import Settings
from ui.process.console import runnable_hint


def unlock(home: Home, settings: Settings) -> Vault:
    """Open the vault, which holds the key to the user's data; create it if the home is new.

    Messages go to standard error.

    Raises:
        StoreLocked: the data is encrypted, and the key is missing or wrong; or the settings ask for
            encryption, and the data is not encrypted.
        StoreInUse: another process is encrypting or decrypting the data.
        StoreError: an interrupted encryption or decryption can't be completed.
    """
    vault = open_vault(home, settings, ask, create=True)
    if vault.recovery is not None:
        show_recovery(vault.recovery, sys.stderr)
    if vault.told is not None:
        print(f"{vault.told}\n→ {runnable_hint('assistant encryption enable')}", file=sys.stderr)
    return vault


def ask(question: SecretKind) -> str | None:
    """Ask for a secret on the terminal. A recovery key may also be piped in.

    Returns None if the user gives no secret or can't be asked.

    Raises:
        SettingsError: the two entries of a new passphrase differ.
    """
    if sys.stdin is None:
        return None
    if not sys.stdin.isatty():
        return (sys.stdin.readline().strip() or None) if question == "recovery key" else None
    prompt = f"{question.capitalize()}: "
    if question == "recovery key":
        print(prompt, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip() or None
    try:
        given = getpass.getpass(prompt)
        again = getpass.getpass("Once more: ") if question == "new passphrase" else given
    except EOFError:
        return None
    if again != given:
        raise SettingsError("The two passphrases differ; nothing was changed.", mend="Try again.")
    return given


def show_recovery(recovery: str, out: TextIO) -> None:
    """Show the recovery key, which is not stored anywhere."""
    print(
        "Your data is encrypted. If the key is ever lost, only this recovery key\n"
        "can unlock your data. Write it down: it is not shown again.\n\n"
        f"    {recovery[:34]}\n    {recovery[35:]}\n",
        file=out,
        flush=True,
    )
