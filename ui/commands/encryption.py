"""`assistant encryption`: encrypts or decrypts data, sets a new passphrase, or recovers a lost
key."""

import argparse
import sys
from dataclasses import asdict

from assistant.compose import build_rekeying
from assistant.encryption import (
    PASSPHRASE_VARIABLE,
    EncryptionStatus,
    KeyProtection,
    encryption_status,
)
from assistant.paths import Home
from ui.commands import ReadSettings
from ui.commands.passphrase import ask, show_recovery
from ui.process.console import print_json, print_result, runnable_hint

KEYS = {"keyring": "the system's keyring", "passphrase": "the passphrase"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Encrypt or decrypt your data; recover a lost key. You are asked for a passphrase when "
        f"necessary, unless the environment variable {PASSPHRASE_VARIABLE} has it."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("status", help="whether your data is encrypted, and how")
    for name, what in (
        ("enable", "encrypt your data, present and future"),
        ("recover", "with the recovery key, set a new passphrase or use the keyring again"),
    ):
        protection = actions.add_parser(name, help=what).add_mutually_exclusive_group()
        for by, how in (
            ("keyring", "store the key in the keyring"),
            ("passphrase", "protect the key with a passphrase"),
        ):
            protection.add_argument(f"--{by}", dest="by", action="store_const", const=by, help=how)
    actions.add_parser("disable", help="decrypt your data")
    actions.add_parser(
        "change-passphrase", help="set a new passphrase, or switch from the keyring to a passphrase"
    )


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    read = settings().settings
    if args.action == "status":
        found = encryption_status(home)
        row = {"event": "encryption", **asdict(found), "mode": read.encryption.mode}
        step = advice(found)
        hint = [] if step is None else [f"→ {runnable_hint(step)}"]
        print_result(row, sentence(found), *hint, as_json=args.json)
        return 0
    by: KeyProtection | None = getattr(args, "by", None)
    keys = build_rekeying(home, read)

    def show(recovery: str) -> None:
        if args.json:
            print_json({"event": "recovery", "recovery_key": recovery})
        else:
            show_recovery(recovery, sys.stdout)

    match args.action:
        case "enable":
            keys.enable(by, ask, show, _progress)
            event, text = "encrypted", "Your data is encrypted."
        case "disable":
            keys.disable(ask, _progress)
            event, text = "decrypted", "Your data is no longer encrypted."
        case "change-passphrase":
            keys.change_passphrase(ask)
            event, text = "passphrase", "From now on, the new passphrase unlocks your data."
        case _:
            how = KEYS[keys.recover(by, ask)]
            event, text = "recovered", f"Recovered; from now on, {how} unlocks your data."
    print_result({"event": event}, text, as_json=args.json)
    return 0


def sentence(found: EncryptionStatus) -> str:
    """Return a sentence that says whether the user's data is encrypted."""
    match found.state:
        case "encrypted":
            how = "a passphrase" if found.by == "passphrase" else KEYS["keyring"]
            return f"Your data is encrypted; {how} unlocks it."
        case "plain":
            return "Your data is not encrypted."
        case "damaged":
            return "Your data is encrypted, and its key file is damaged."
        case "missing":
            return "Your data is encrypted, and its key file is missing."
    where = f"there is a keyring ({found.keyring})" if found.keyring else "there is no keyring"
    return f"There is no data yet; {where}."


def advice(found: EncryptionStatus) -> str | None:
    """Return the command to run in this state of the data; None if there is nothing to do."""
    if found.state in ("damaged", "missing"):
        return "assistant encryption recover"
    return "assistant encryption enable" if found.state == "plain" else None


def _progress(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
