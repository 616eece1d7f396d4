"""What every program has: its arguments, one sentence where it can't go on, and `--json`."""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from assistant.errors import AssistantError
from models.selection.profiles import NAMES
from scripts.common.last_line import last_line, machine

INTERRUPTED_EXIT = 130


class NotMeasured(AssistantError):
    """What was to be measured did not come up, or did not do as it should."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """One that tells all of a program's docstring with `--help`, and has `--json`."""
    about, _, more = (doc or "").strip().partition("\n\n")
    made = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "--json", action="store_true", help="print all figures as one JSON object on the last line"
    )
    return made


def add_profile(made: argparse.ArgumentParser, default: str = "tiny") -> None:
    made.add_argument(
        "--profile", default=default, choices=NAMES, help="whose models (default: %(default)s)"
    )


def at_least(least: int) -> Callable[[str], int]:
    """A whole number, as an argument."""

    def number(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


Work = Callable[[argparse.Namespace], Mapping[str, Any]]


def run(work: Work, options: argparse.Namespace) -> int:
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
