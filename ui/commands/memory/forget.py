"""`assistant memory forget`, `undo` and `pending`."""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from assistant.errors import SettingsError
from assistant.ipc import Request, Row
from ui.text.forgetting import question

Ask = Callable[[Request], Iterator[Row]]
Show = Callable[[Iterator[Row]], None]

FORMS = {
    "ids": "ID",
    "about": "--about",
    "last": "--last",
    "minutes": "--minutes",
    "everything": "--everything",
}
MEND = "assistant memory forget --help"
NOT_AGREED_EXIT = 1
STANDARD_STREAM = "-"
"""In place of a text: what stands on a command line is kept by the shell and the system."""


def add_actions(actions: "argparse._SubParsersAction[Any]") -> None:
    summary = "forget memories, and the words behind them"
    forgetting = actions.add_parser(
        "forget",
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}: out of sight at once, and gone for good"
        " after forget.grace_s seconds. Until then `undo` brings it back.",
    )
    forgetting.add_argument(
        "ids", nargs="*", metavar="ID", help="ids of memories, or their first characters"
    )
    for flag, more in (
        ("about", {"metavar": "TEXT", "help": "everything about it; - means standard input"}),
        ("last", {"action": "store_true", "help": "the last exchange"}),
        ("minutes", {"metavar": "N", "type": float, "help": "what was said in the last N minutes"}),
        ("everything", {"action": "store_true", "help": "everything there is"}),
        (
            "preview",
            {"action": "store_true", "help": "show what would go, and change nothing"},
        ),
        ("now", {"action": "store_true", "help": "gone for good at once, with a receipt"}),
        ("yes", {"action": "store_true", "help": "don't ask"}),
    ):
        forgetting.add_argument(f"--{flag}", **more)
    forgetting.add_argument(
        "--sources",
        action="store_true",
        help="also forget the exchanges that derived memories are based on",
    )
    forgetting.add_argument(
        "--limit", type=int, metavar="N", help="with --preview: show at most N; default 20"
    )
    undoing = actions.add_parser("undo", help="bring back what was forgotten last")
    undoing.add_argument(
        "id", nargs="?", metavar="ID", help="an id from `pending`, or its first characters"
    )
    actions.add_parser("pending", help="what is forgotten, and can still be brought back")


def request_of(args: argparse.Namespace) -> Row:
    """What is to go.

    Raises:
        SettingsError: it says nothing, or several things at once.
    """
    given = {name: getattr(args, name) for name in FORMS}
    given = {name: value for name, value in given.items() if value not in (None, False, [])}
    if args.minutes is not None:
        given["minutes"] = args.minutes  # 0 is no minutes at all, and not nothing
    if args.about == STANDARD_STREAM:
        given["about"] = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if len(given) != 1:
        which = " and ".join(FORMS[name] for name in given)
        raise SettingsError(
            f"{which} can't go together: forget one after the other."
            if given
            else f"Say what to forget: one of {', '.join(FORMS.values())}.",
            mend=MEND,
        )
    if args.sources and not args.ids:
        raise SettingsError("--sources goes with the ID of a memory.", mend=MEND)
    if args.minutes is not None and not args.minutes > 0:
        raise SettingsError("--minutes takes a number, more than 0.", mend=MEND)
    if args.preview and (args.now or args.yes):
        raise SettingsError("--preview changes nothing: leave --now and --yes away.", mend=MEND)
    if args.limit is not None and not args.preview:
        raise SettingsError("--limit goes with --preview.", mend=MEND)
    request: Row = {"act": "forget", **given}
    if args.sources:
        request["with_sources"] = True
    for name in ("preview", "now"):
        if getattr(args, name):
            request[name] = True
    if args.limit is not None:
        request["limit"] = args.limit
    return request


def forget(args: argparse.Namespace, request: Row, ask: Ask, show: Show) -> int:
    """Carry it out, or ask first; returns the exit code.

    Raises:
        SettingsError: somebody has to agree, and there is nobody to ask.
    """
    if args.preview or args.yes:
        show(ask(request))
        return 0
    rows = list(ask({**request, "ask": True}))
    told = rows[-1]
    if told["event"] == "preview":
        if args.json or not _terminal():
            raise _unasked("everything" if args.everything else f"{told['things']:,} things")
        show(iter(rows))
        if not _agreed(question(told)):
            print("Nothing was forgotten.")
            return NOT_AGREED_EXIT
        rows = list(ask({**request, "seen": told["seen"]}))
    show(iter(rows))
    return 0


def _unasked(what: str) -> SettingsError:
    return SettingsError(
        f"This would forget {what}. Confirm it with --yes, since there is no terminal to ask on.",
        mend="assistant memory forget … --preview shows what would be forgotten.",
    )


def _terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _agreed(asked: str) -> bool:
    print(f"{asked} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
