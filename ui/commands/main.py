"""The `assistant` command.

A command's modules are imported when it runs: `assistant config` must not wait for torch.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from assistant.errors import AssistantError, SettingsError
from assistant.paths import Home, default_home
from assistant.settings import Loaded, load
from ui.process import console, unexpected
from ui.process.logs import ensure_standard_streams, logs_in, redirected_output

logger = logging.getLogger(__name__)

COMMANDS = {
    "screen": "talk with the assistant and watch it; what runs when no command is given",
    "talk": "talk with the assistant in plain lines",
    "models": "list, pull, verify or remove models",
    "devices": "show microphones and loudspeakers",
    "doctor": "check this machine, and say how to fix problems",
    "config": "show the settings and where each comes from; change them",
    "encryption": "encrypt or decrypt your data; recover a lost key",
    "replay": "play a recorded conversation back",
    "memory": "browse memories; search, add, change, forget",
    "idle": "work done while nobody speaks: show, run now, pause",
}
FLAG_SETTINGS = {
    "profile": "general.profile",
    "user": "general.user",
    "microphone": "audio.input_device",
    "loudspeaker": "audio.output_device",
    "llm": "llm.model",
    "voice": "tts.model",
    "speed": "tts.speed",
    "language": "persona.language",
}
"""Flags that are shorthand for settings."""


class Parser(argparse.ArgumentParser):
    """Reports wrong usage like any other error."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{message[:1].upper()}{message[1:]}.", mend=f"{self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Every error is reported here, once."""
    ensure_standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            code = _run(arguments)
        except AssistantError as error:
            code = error.exit_code
            console.render_error(
                error, as_json="--json" in arguments, out=sys.stdout, err=sys.stderr
            )
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Otherwise the rest of the buffer would fail again at exit.
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
            return _dispatch(args, home)
        except AssistantError as error:
            if logged:
                logger.error("The command %s ended", command, exc_info=error)
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            raise _unforeseen(error, home, logged) from error


def _default_command(flags: list[str]) -> str:
    """The screen if there is a terminal and no flag asks for lines."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return "screen" if terminal and "--json" not in flags and "--text" not in flags else "talk"


def _globals_parser() -> Parser:
    """The flags accepted before and after the command's name."""
    parser = Parser(prog="assistant", add_help=False)
    group = parser.add_argument_group("everywhere")
    group.add_argument("--home", type=Path, metavar="DIR", help="folder of your data")
    group.add_argument("--profile", metavar="P", help="models to use: tiny, small or default")
    group.add_argument("--user", metavar="NAME", help="whose conversation it is")
    group.add_argument("--json", action="store_true", help="print JSON, one object per line")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.NAME=VALUE",
        help="any setting, for this run; may be repeated",
    )
    group.add_argument("--pull", action="store_true", help="first download missing models")
    return parser


def _parser(command: str | None) -> Parser:
    """The whole grammar; of the commands, only `command`'s own part is loaded."""
    parser = Parser(
        prog="assistant",
        description="A voice assistant that runs entirely on this machine.",
        parents=[_globals_parser()],
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        if name != command:
            commands.add_parser(name, help=summary)
        elif name in ("talk", "screen"):
            _add_talk(commands.add_parser(name, help=summary, description=summary), name)
        else:
            _module_of(name).add_parser(commands)
    return parser


def _module_of(command: str) -> ModuleType:
    """The module of a command; larger ones are packages."""
    package = f"ui.commands.{command}"
    return import_module(f"{package}.command" if command in ("doctor", "memory") else package)


def _add_talk(parser: argparse.ArgumentParser, name: str) -> None:
    import_module("ui.commands.talk" if name == "talk" else "ui.commands.screen").add_arguments(
        parser
    )
    parser.add_argument("--microphone", metavar="NAME", help="part of its name, or its number")
    parser.add_argument("--loudspeaker", metavar="NAME", help="part of its name, or its number")
    parser.add_argument("--llm", metavar="MODEL", help="catalogue name, GGUF file or repository")
    parser.add_argument("--voice", metavar="VOICE", help="Piper voice: name or .onnx file")
    parser.add_argument("--speed", metavar="X", help="speed of the voice; 1.0 is normal")
    parser.add_argument("--language", metavar="CODE", help="such as en or de; auto detects it")


def _dispatch(args: argparse.Namespace, home: Home) -> int:
    if args.command in ("talk", "screen"):
        return _talk(args, home)
    module = _module_of(args.command)
    code: int
    match args.command:
        case "models":
            profile = load_settings(args, home).settings.general.profile
            code = module.run(args, profile=profile)
        case "devices":
            code = module.run(args)
        case "doctor" | "memory" | "encryption" | "idle":
            code = module.run(args, home, load_settings(args, home).settings)
        case "replay":
            code = module.run(args, home, load_settings(args, home))
        case _:
            code = module.run(args, home, settings_flags(args))
    return code


def _talk(args: argparse.Namespace, home: Home) -> int:
    loaded = load_settings(args, home)
    settings = loaded.settings
    if args.pull:
        import_module("ui.commands.missing_models").pull_missing(settings, sys.stderr)
    if args.command == "screen":
        screen: int = import_module("ui.commands.screen").run(args, home, loaded)
        return screen
    vault = import_module("ui.commands.passphrase").unlock(home, settings)
    talk = import_module("ui.commands.talk")
    with redirected_output(home) as streams:
        code: int = talk.run(args, home, settings, streams.out, vault)
    return code


def load_settings(args: argparse.Namespace, home: Home) -> Loaded:
    """The settings with this command line's flags on top. Raises SettingsError."""
    return load(home.settings_file, flags=settings_flags(args))


def settings_flags(args: argparse.Namespace) -> dict[str, str]:
    """`section.name` → value for all flags that are settings. Raises SettingsError."""
    flags = {
        key: value
        for name, key in FLAG_SETTINGS.items()
        if (value := getattr(args, name, None)) is not None
    }
    for assignment in args.set:
        key, equals, value = assignment.partition("=")
        if not equals or "." not in key:
            raise SettingsError(
                f"--set takes SECTION.NAME=VALUE, not {assignment!r}.", mend="assistant config"
            )
        flags[key] = value
    return flags


def _unforeseen(error: Exception, home: Home, logged: bool) -> unexpected.UnexpectedError:
    """Write the traceback to the log, even if logging has not begun."""
    with ExitStack() as stack:
        try:
            if not logged:
                stack.enter_context(logs_in(home))
        except AssistantError:
            return unexpected.UnexpectedError(error, None)
        logger.critical("Unforeseen", exc_info=error)
        return unexpected.UnexpectedError(error, home.log)


if __name__ == "__main__":
    sys.exit(main())
