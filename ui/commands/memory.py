"""`assistant memory`: shows and changes memories.

A running assistant has exclusive access to the memories, so the command asks it. If no assistant is
running, the command opens the memories itself.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import cache, partial

from assistant.errors import SettingsError
from assistant.ipc import Row
from assistant.memory import MemoryKind, MemoryState
from assistant.paths import Home
from ui.commands import ReadSettings, forget
from ui.commands.forget import STANDARD_STREAM, text_of_stdin
from ui.commands.json_lines import read_rows
from ui.commands.passphrase import unlock
from ui.commands.requests import ask_memory
from ui.process.console import print_json, print_result
from ui.text import export
from ui.text.memories import lines

ACTIONS = {
    "list": "the newest memories",
    "search": "what would be recalled for these words, and why",
    "show": "one memory in full, and where it comes from",
    "why": "what an answer was based on, and what was recalled for it",
    "log": "the newest answers, and the memories recalled for each",
    "add": "write down something to remember",
    "edit": "replace a memory's text",
    "forget": "forget memories, and the words behind them",
    "undo": "bring back what was forgotten last",
    "pending": "what was forgotten and can still be brought back",
    "split": "undo a merge or a replacement",
    "pin": "always put a memory in the prompt",
    "unpin": "stop pinning a memory",
    "never-recall": "keep a memory, but never recall it",
    "feedback": "say whether a memory was rightly recalled",
    "export": "write all memories to a file, one JSON object per line",
    "import": "read memories from a file that `export` wrote",
    "stats": "how much is remembered",
    "users": "who has memories here",
    "receipts": "what was searched after each deletion",
    "rebuild": "derive memories from the transcript again",
    "verify-forgotten": "search for traces of what was forgotten",
}
PASSED_ON = ("kind", "since", "before", "state", "offset", "limit", "id", "turn")
"""Arguments that are copied to the request unchanged."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    added = {name: actions.add_parser(name, help=what) for name, what in ACTIONS.items()}
    forget.add_arguments(added["forget"])
    for name in ("show", "edit", "split", "pin", "unpin", "never-recall", "feedback"):
        added[name].add_argument("id", metavar="ID", help="id of a memory, or its first characters")
    for name in ("search", "add", "edit"):
        added[name].add_argument(
            "text", nargs="+", metavar="TEXT", help="- reads the text from standard input"
        )
    added["search"].add_argument(
        "--plain", action="store_true", help="memories that contain this text, newest first"
    )
    for name in ("list", "search"):
        _add_filters(added[name])
    added["list"].add_argument(
        "--offset", type=int, metavar="N", help="skip the newest N; default 0"
    )
    for name, default in (("list", 20), ("search", 10), ("log", 10)):
        added[name].add_argument(
            "--limit", type=int, metavar="N", help=f"show at most N; default {default}"
        )
    added["why"].add_argument(
        "turn",
        nargs="?",
        metavar="TURN",
        help="number of a turn of the last conversation, or an exchange's id; default: the last"
        " answer",
    )
    added["undo"].add_argument(
        "id", nargs="?", metavar="ID", help="an id from `pending`, or its first characters"
    )
    added["never-recall"].add_argument(
        "--undo", action="store_true", help="allow it to be recalled again"
    )
    added["feedback"].add_argument(
        "rightly", choices=["+", "-"], metavar="+/-", help="+ for rightly, - for wrongly"
    )
    for name, stream in (("export", "output"), ("import", "input")):
        added[name].add_argument("file", metavar="FILE", help=f"- means standard {stream}")
    verifying = added["verify-forgotten"]
    verifying.description = (
        f"{ACTIONS['verify-forgotten']}; texts to look for are read from standard input, one per "
        "line"
    )
    verifying.add_argument(
        "--clean", action="store_true", help="first rewrite the stores without the forgotten data"
    )


def _add_filters(parser: argparse.ArgumentParser) -> None:
    kinds, states = [each.value for each in MemoryKind], [each.value for each in MemoryState]
    parser.add_argument("--kind", choices=kinds, help="only this kind")
    for flag, what in (("since", "from this day on"), ("before", "until this day begins")):
        parser.add_argument(
            f"--{flag}", metavar="DAY", help=f"{what}, such as 2026-11-22; a time may follow"
        )
    parser.add_argument("--state", choices=states, help="only memories in this state")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    read = settings().settings
    request = request_of(args)
    with ExitStack() as stack:
        vault = cache(lambda: stack.enter_context(closing(unlock(home, read))))
        ask = partial(ask_memory, home, read, unlocked=vault)
        show = partial(_print, as_json=args.json, least_score=read.memory.least_score)
        match args.action:
            case "forget":
                return forget.forget(args, request, ask, show)
            case "export":
                _export(ask(request), args)
            case "verify-forgotten":
                rows = list(ask(request))
                show(rows)
                return int(not all(row["clean"] for row in rows))
            case _:
                show(ask(request))
    return 0


def _print(rows: Iterable[Row], *, as_json: bool, least_score: float) -> None:
    if as_json:
        for row in rows:
            print_json(row)
    else:
        for line in lines(rows, least_score):
            print(line)


def request_of(args: argparse.Namespace) -> Row:
    """Convert the command line to a JSON request.

    Raises:
        SettingsError: the arguments are invalid, or a line of the file to import is not JSON.
        StoreError: the file to import can't be read.
    """
    request: Row = {"act": args.action}
    match args.action:
        case "forget":
            request = forget.request_of(args)
        case "search" if args.plain:
            request["act"] = "grep"
        case "pin" | "unpin":
            request |= {"act": "mark", "pinned": args.action == "pin"}
        case "never-recall":
            request |= {"act": "mark", "never_recall": not args.undo}
        case "feedback":
            request |= {"act": "mark", "feedback": 1 if args.rightly == "+" else -1}
        case "verify-forgotten":
            request |= {"texts": _lines_of_stdin(), "clean": args.clean}
        case "import":
            request["rows"] = read_rows(args.file)
    given = {name: getattr(args, name, None) for name in PASSED_ON}
    request |= {name: value for name, value in given.items() if value is not None}
    if request.get("limit", 1) < 1:
        raise SettingsError("--limit must be a number, 1 or more.", mend="assistant memory --help")
    if "text" in args:
        text = " ".join(args.text)
        request["text"] = text_of_stdin() if text == STANDARD_STREAM else text
    return request


def _lines_of_stdin() -> list[str]:
    """Return the lines of standard input that are not blank.

    The list is empty if standard input is a terminal.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return []
    return [line.strip() for line in text_of_stdin().splitlines() if line.strip()]


def _export(rows: Iterator[Row], args: argparse.Namespace) -> None:
    if args.file == STANDARD_STREAM:
        for row in rows:
            print_json(row)
        return
    file = export.expanded_path(args.file)
    count = export.write(rows, file)
    print_result(
        {"event": "exported", "file": str(file), "count": count},
        f"{count:,} memories written to {file}.",
        as_json=args.json,
    )
