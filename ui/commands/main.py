"""The `assistant` command.

Only the modules of the given command are imported, so that `assistant config` doesn't wait for the
libraries that other commands need.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from assistant.errors import AssistantError, SettingsError
from assistant.paths import Home, default_home
from assistant.settings import load
from ui.process import console
from ui.process.imports import imports_for_good
from ui.process.logs import ensure_standard_streams, logs_in

logger = logging.getLogger(__name__)

COMMANDS = {
    "screen": "talk with the assistant and watch it; the default if no command is given",
    "talk": "talk with the assistant in plain lines",
    "models": "list, pull, verify or remove models",
    "devices": "show microphones and loudspeakers",
    "doctor": "check this machine, and say how to fix problems",
    "config": "show the settings and where each comes from; change them",
    "encryption": "encrypt or decrypt your data; recover a lost key",
    "replay": "play a recorded conversation back",
    "memory": "browse memories; search, add, change, forget",
    "timers": "show or remove timers",
    "alarms": "show or remove alarms",
    "reminders": "show or remove reminders",
    "lists": "show lists; add, tick off and remove items",
    "forms": "show filled-in forms and export them; check a form of your own",
    "notes": "show, write and remove notes",
    "tasks": "show tasks and what is settled in them; change, remove, export",
    "idle": "work done while nobody speaks: show, run now, pause",
}
"""Summary of each command. The keys are also the names of the commands' modules in this package."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises SettingsError on wrong usage, so that `main` reports it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{message[:1].upper()}{message[1:]}.", mend=f"{self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. Every error is reported here, once."""
    ensure_standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            code = _run(arguments)
        except AssistantError as error:
            code = error.exit_code
            console.render_error(error, as_json="--json" in arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Otherwise, writing the rest of the buffer at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return console.PIPE_CLOSED_EXIT
    except KeyboardInterrupt:
        return console.INTERRUPTED_EXIT


def _run(arguments: list[str]) -> int:
    shared, rest = _globals_parser().parse_known_args(arguments)
    home = Home(shared.home.expanduser()) if shared.home else default_home()
    command = next((word for word in rest if not word.startswith("-")), None)
    if not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help", "--version")):
        command = _default_command(rest)
        rest = [command, *rest]
    logged = command in COMMANDS and command != "config"
    if command == "screen":
        os.environ["LOGURU_AUTOINIT"] = "False"  # keeps loguru silent if a library loads it
    with ExitStack() as stack:
        if logged:
            stack.enter_context(logs_in(home, pipecat=command != "screen"))
        try:
            if rest == ["--version"]:
                print(f"assistant {version('local-voice-assistant')}")
                return 0
            args = _parser(command).parse_args(rest)
            vars(args).update(vars(shared))
            return _carry_out(args, home)
        except AssistantError as error:
            if logged:
                logger.error("The command %s failed", command, exc_info=error)
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            raise _unexpected(error, home, logged) from error


def _default_command(flags: list[str]) -> str:
    """Return the command to run if none is given.

    This is `screen` on a terminal, unless `--json` or `--text` is given; otherwise `talk`.
    """
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return "screen" if terminal and "--json" not in flags and "--text" not in flags else "talk"


def _globals_parser() -> Parser:
    """Return a parser for the flags that are accepted before and after the command's name."""
    parser = Parser(prog="assistant", add_help=False)
    group = parser.add_argument_group("everywhere")
    group.add_argument("--home", type=Path, metavar="DIR", help="folder for your data")
    group.add_argument(
        "--profile",
        dest="general.profile",
        metavar="P",
        help="models to use: tiny, small or default",
    )
    group.add_argument(
        "--user", dest="general.user", metavar="NAME", help="whose conversation it is"
    )
    group.add_argument("--json", action="store_true", help="print JSON, one object per line")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="SECTION.NAME=VALUE",
        help="any setting, for this run; may be repeated",
    )
    group.add_argument("--pull", action="store_true", help="download missing models first")
    return parser


def _assignment(text: str) -> tuple[str, str]:
    """Split `SECTION.NAME=VALUE` into the name of the setting and its value.

    Raises:
        SettingsError: the text doesn't have this form.
    """
    key, equals, value = text.partition("=")
    if not equals or "." not in key:
        raise SettingsError(
            f"--set takes SECTION.NAME=VALUE, not {text!r}.", mend="assistant config"
        )
    return key, value


def _parser(command: str | None) -> Parser:
    """Return a parser for the whole command line.

    The parser knows all commands, but only the arguments of `command`. Only the module of `command`
    is imported.
    """
    parser = Parser(
        prog="assistant",
        description="A voice assistant that runs entirely on this machine.",
        parents=[_globals_parser()],
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        each = commands.add_parser(name, help=summary, description=summary)
        if name == command:
            module = _module(f"ui.commands.{name}")
            module.add_arguments(each)
            each.set_defaults(module=module, show_help=each.print_help)
    return parser


def _module(name: str) -> ModuleType:
    if name not in sys.modules:
        with imports_for_good():
            import_module(name)
    return sys.modules[name]


def _carry_out(args: argparse.Namespace, home: Home) -> int:
    if getattr(args, "action", "") is None:
        args.show_help()
        return 0
    # A flag that is shorthand for a setting has the setting's name as its `dest`.
    flags = {key: value for key, value in vars(args).items() if "." in key and value is not None}
    settings = partial(load, home.settings_file, flags=flags | dict(args.set))
    code: int = args.module.run(args, home, settings)
    return code


def _unexpected(error: Exception, home: Home, logged: bool) -> console.UnexpectedError:
    """Write the traceback to the log, and return an error that can be shown to the user.

    This also works before logging has begun.
    """
    with ExitStack() as stack:
        try:
            if not logged:
                stack.enter_context(logs_in(home))
        except AssistantError:
            return console.UnexpectedError(error, None)
        logger.critical("Unexpected error", exc_info=error)
        return console.UnexpectedError(error, home.log)


if __name__ == "__main__":
    sys.exit(main())
