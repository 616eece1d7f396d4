"""What all programs share: common options, `--json`, and errors reported in one sentence."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
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
    """A measured program did not start, or did not work as it should."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Shows the defaults, except those that stand for "off" or "left out"."""

    def _get_help_string(self, action: argparse.Action) -> str:
        told = action.help or ""
        plain = not action.default or action.default == argparse.SUPPRESS or "default" in told
        return told if plain else f"{told} (default: %(default)s)"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the option `--json`, whose `--help` shows the program's whole docstring."""
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
    """Add an option that takes a whole number, or several with `nargs`."""
    made.add_argument(
        name, type=at_least(least), default=default, nargs=nargs, metavar="N", help=told
    )


def add_half(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--half",
        action="store_true",
        help="multiply in bfloat16: up to four times as fast if the processor supports it, "
        "otherwise slower",
    )


def add_training(
    made: argparse.ArgumentParser,
    *,
    epochs: int,
    batch: int,
    rank: int,
    rate: float,
    limit: str,
) -> None:
    """Add the usual options for training an adapter, with these defaults. `limit` is the help text
    of `--limit`."""
    made.add_argument(
        "--encoder", default="all-minilm-l6-v2", metavar="NAME", help="encoder in the catalogue"
    )
    made.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    add_number(made, "--epochs", epochs, "passes over the data")
    add_number(made, "--batch", batch, "utterances per step")
    add_number(made, "--rank", rank, "rank of the adapter")
    made.add_argument("--rate", type=float, default=rate, metavar="R", help="highest learning rate")
    add_number(made, "--limit", None, limit)
    add_number(made, "--seed", 1, "seed of the order", least=0)
    add_half(made)


def add_talk(made: argparse.ArgumentParser, default: int) -> None:
    add_number(made, "--talk", default, "utterances of ordinary talk in each pass")


def at_least(least: int) -> Callable[[str], int]:
    """Makes a parser for whole numbers that are not below `least`."""

    def number(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


def fill(plan: type[Plan], options: Options) -> Plan:
    """Make a dataclass whose fields have the values of the options with the same names."""
    return plan(**{each.name: getattr(options, each.name) for each in fields(plan)})


def run(work: Callable[[Options], Mapping[str, Any]], options: Options) -> int:
    """Do the work and, if `--json` is given, print its figures as the last line.

    Returns the exit code. The machine is described before the work begins, so that its load
    doesn't include the work.
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


def print_calibration(head: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print how many answers were right in each range of probabilities, under a heading for the
    ranges."""
    print(f"\n{head:<38} {'utterances':>10} {'mean':>6} {'right':>8}")
    for row in rows:
        limits = f"{row['from']:.2f} to {row['to']:.2f}"
        print(f"{limits:<38} {row['utterances']:>10} {row['mean']:>6.3f} {row['right']:>8.3f}")
