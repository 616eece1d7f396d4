"""`assistant encryption`: encrypts or decrypts your data, changes the passphrase, recovers."""

import argparse
import sys
from dataclasses import asdict
from functools import partial
from typing import Any

from assistant.compose import build_rekeying
from assistant.encryption import (
    PASSPHRASE_VARIABLE,
    EncryptionStatus,
    KeyProtection,
    encryption_status,
)
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.passphrase import ask, show_recovery
from ui.process.console import print_json, runnable_hint
from ui.text.encryption import mend, sentence


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "encrypt or decrypt your data; recover a lost key"
    parser = commands.add_parser(
        "encryption",
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}. A passphrase is asked for, or taken from "
        f"the environment variable {PASSPHRASE_VARIABLE}.",
    )
    parser.set_defaults(show_help=parser.print_help)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("status", help="whether your data is encrypted, and how")
    for name, what in (
        ("enable", "encrypt your data, present and future"),
        ("recover", "set a new passphrase or use the keyring again, with the recovery key"),
    ):
        action = actions.add_parser(name, help=what)
        way = action.add_mutually_exclusive_group()
        way.add_argument(
            "--keyring", dest="by", action="store_const", const="keyring", help="key in the keyring"
        )
        way.add_argument(
            "--passphrase",
            dest="by",
            action="store_const",
            const="passphrase",
            help="key behind a passphrase",
        )
    actions.add_parser("disable", help="decrypt your data")
    actions.add_parser(
        "change-passphrase", help="set a new passphrase, or switch from the keyring to one"
    )


def run(args: argparse.Namespace, home: Home, settings: Settings) -> int:
    """Carry out the command; returns the exit code. Raises AssistantError."""
    by: KeyProtection | None = getattr(args, "by", None)
    keys = build_rekeying(home, settings)
    match args.action:
        case None:
            args.show_help()
        case "status":
            _show(encryption_status(home), settings, as_json=args.json)
        case "enable":
            keys.enable(by, ask, partial(_recovery, args.json), _progress)
            _say(args, "encrypted", "Your data is encrypted.")
        case "disable":
            keys.disable(ask, _progress)
            _say(args, "decrypted", "Your data is no longer encrypted.")
        case "change-passphrase":
            keys.change_passphrase(ask)
            _say(args, "passphrase", "From now on, the new passphrase unlocks your data.")
        case _:
            how = keys.recover(by, ask)
            what = "the passphrase" if how == "passphrase" else "the system's keyring"
            _say(args, "recovered", f"Recovered; from now on, {what} unlocks your data.")
    return 0


def _show(found: EncryptionStatus, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        row = {"event": "encryption", **asdict(found), "mode": settings.encryption.mode}
        print_json(row, sys.stdout)
        return
    print(sentence(found))
    if (step := mend(found)) is not None:
        print(f"→ {runnable_hint(step)}")


def _recovery(as_json: bool, recovery: str) -> None:
    if as_json:
        print_json({"event": "recovery", "recovery_key": recovery}, sys.stdout)
    else:
        show_recovery(recovery, sys.stdout)


def _progress(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _say(args: argparse.Namespace, event: str, text: str) -> None:
    if args.json:
        print_json({"event": event}, sys.stdout)
    else:
        print(text)
