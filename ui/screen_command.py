"""`assistant`, or `assistant screen`: talk with it and watch it listen, think and remember."""

import argparse
import sys
from pathlib import Path

from assistant.encryption import Vault
from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import Loaded
from ui.console import render_error
from ui.quiet import quiet
from ui.session import Live, Plan
from ui.talk import add_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        type=Path,
        metavar="WAV",
        help="speak this recording to the assistant instead of a microphone; may be repeated",
    )
    parser.add_argument("--output", type=Path, metavar="WAV", help="record what it says here")
    add_record(parser)


def run(args: argparse.Namespace, home: Home, loaded: Loaded, vault: Vault) -> int:
    """Draw the screen until its user leaves it; returns the exit code.

    Raises:
        SettingsError: there is no terminal to draw it on.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The screen needs a terminal.", mend="assistant talk")
    session = Live(
        home, loaded.settings, vault, Plan(tuple(args.input), args.output, record=args.record)
    )
    with quiet(home) as streams:
        from ui.screen.app import AssistantScreen
        from ui.screen.terminal import drawing_on

        app = AssistantScreen(session, home, loaded, drawing_on(streams.out))
        code = app.run()
    vault.close()
    if app.error is not None:
        render_error(app.error, as_json=False, out=sys.stdout, err=sys.stderr)
    return code or 0
