"""What every program has: its arguments, one sentence where it can't go on, and `--json`."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from assistant.errors import AssistantError
from models.selection.profiles import PROFILE_NAMES
from scripts.common.last_line import last_line, machine

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

INTERRUPTED_EXIT = 130

Options = argparse.Namespace
Figures = dict[str, Any]
Plan = TypeVar("Plan", bound="DataclassInstance")


class NotMeasured(AssistantError):
    """What was to be measured did not come up, or did not do as it should."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Tells the defaults, but not that something is off or left out."""

    def _get_help_string(self, action: argparse.Action) -> str:
        told = action.help or ""
        plain = not action.default or action.default == argparse.SUPPRESS or "default" in told
        return told if plain else f"{told} (default: %(default)s)"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """One that tells all of a program's docstring with `--help`, and has `--json`."""
    about, _, more = (doc or "").strip().partition("\n\n")
    made = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    made.add_argument(
        "--json", action="store_true", help="print all figures as one JSON object on the last line"
    )
    return made


def add_profile(made: argparse.ArgumentParser, default: str = "tiny") -> None:
    made.add_argument(
        "--profile", default=default, choices=PROFILE_NAMES, help="profile whose models are used"
    )


def add_number(
    made: argparse.ArgumentParser,
    name: str,
    default: int | Sequence[int] | None,
    told: str,
    *,
    least: int = 1,
    nargs: str | None = None,
) -> None:
    """An option that takes a whole number, or several with `nargs`."""
    made.add_argument(
        name, type=at_least(least), default=default, nargs=nargs, metavar="N", help=told
    )


def at_least(least: int) -> Callable[[str], int]:
    """A whole number, as an argument."""

    def number(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


def fill(plan: type[Plan], options: Options) -> Plan:
    """A dataclass from the options of the same names."""
    return plan(**{each.name: getattr(options, each.name) for each in fields(plan)})


def run(work: Callable[[Options], Mapping[str, Any]], options: Options) -> int:
    """Have the work done and its figures printed as the last line, where `--json` is given.

    Returns the exit code. The machine is looked at before, while the work is no part of its load.
    """
    where = machine()
    try:
        found = work(options)
    except AssistantError as error:
        print(error, *filter(None, [error.mend]), sep="\n", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename else error
        print(told, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
    if options.json:
        print(last_line({"machine": where} | dict(found)))
    return 0
