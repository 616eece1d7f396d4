"""Filters of `assistant memory list` and `search` on the command line."""

import argparse

from assistant.ipc import Row
from assistant.memory import MemoryKind, MemoryState

FILTERS = ("kind", "since", "before", "state")


def add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kind", choices=[kind.value for kind in MemoryKind], help="only this kind"
    )
    for flag, what in (("since", "from this day on"), ("before", "until this day begins")):
        parser.add_argument(f"--{flag}", metavar="DAY", help=f"{what}: 2026-11-22; or with a time")
    states = [state.value for state in MemoryState]
    parser.add_argument("--state", choices=states, help="only memories in this state")


def add_paging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offset", type=int, metavar="N", help="skip the newest N; default 0")


def add_plain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plain", action="store_true", help="memories that contain this text, newest first"
    )


def wish_of(args: argparse.Namespace) -> Row:
    """The filters that were given."""
    wish = {name: getattr(args, name, None) for name in (*FILTERS, "offset")}
    wish = {name: value for name, value in wish.items() if value is not None}
    return wish | ({"act": "grep"} if getattr(args, "plain", False) else {})
