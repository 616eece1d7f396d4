"""`assistant memory`: browse and change memories.

A running assistant has exclusive access to the memories, so it is asked; if none is running, the
command opens them itself.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cache, partial
from pathlib import Path
from typing import Any

from assistant.errors import SettingsError, StoreError
from assistant.ipc import Row
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.memory import filters, forget
from ui.commands.memory.forget import STANDARD_STREAM
from ui.commands.memory.requests import answers, lines_of_stdin
from ui.commands.passphrase import unlock
from ui.process.console import print_json
from ui.text import export
from ui.text.memories import lines


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "browse memories; search, add, change, forget"
    parser = commands.add_parser("memory", help=summary, description=summary)
    parser.set_defaults(show_help=parser.print_help)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="the newest memories")
    filters.add_filters(listing)
    filters.add_paging(listing)
    _add_limit(listing, "20")
    searching = actions.add_parser("search", help="what would be recalled for these words, and why")
    _add_text(searching)
    filters.add_plain(searching)
    filters.add_filters(searching)
    _add_limit(searching, "10")
    _add_id(actions.add_parser("show", help="one memory in full, and where it comes from"))
    adding = actions.add_parser("add", help="write down something to remember")
    _add_text(adding)
    editing = actions.add_parser("edit", help="replace a memory's text")
    _add_id(editing)
    _add_text(editing)
    forget.add_actions(actions)
    splitting = actions.add_parser("split", help="undo a merge or a replacement")
    _add_id(splitting)
    for name, what in (
        ("pin", "always put a memory in the prompt"),
        ("unpin", "stop pinning a memory"),
    ):
        _add_id(actions.add_parser(name, help=what))
    hiding = actions.add_parser("never-recall", help="keep a memory, but never recall it")
    _add_id(hiding)
    hiding.add_argument("--undo", action="store_true", help="allow it to be recalled again")
    feedback = actions.add_parser("feedback", help="say whether a memory was rightly recalled")
    _add_id(feedback)
    feedback.add_argument("rightly", choices=["+", "-"], metavar="+/-", help="rightly or wrongly")
    for name, what, stream in (
        ("export", "write all memories to a file, one JSON object per line", "output"),
        ("import", "read memories from a file that `export` wrote", "input"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("file", metavar="FILE", help=f"- means standard {stream}")
    actions.add_parser("stats", help="how much is remembered")
    actions.add_parser("users", help="who has memories here")
    actions.add_parser("receipts", help="what was searched after each deletion")
    actions.add_parser("rebuild", help="derive memories from the transcript again")
    _add_verifying(actions)


def _add_verifying(actions: "argparse._SubParsersAction[Any]") -> None:
    summary = "search for traces of what was forgotten"
    verifying = actions.add_parser(
        "verify-forgotten",
        help=summary,
        description=f"{summary}; texts to look for are read from standard input, one per line",
    )
    verifying.add_argument(
        "--clean", action="store_true", help="first rewrite the stores without what was forgotten"
    )


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="id of a memory, or its first characters")


def _add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="- reads it from standard input")


def _add_limit(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--limit", type=int, metavar="N", help=f"show at most N; default {default}")


def run(args: argparse.Namespace, home: Home, settings: Settings) -> int:
    """Carry out the command; returns the exit code. Raises AssistantError."""
    if args.action is None:
        args.show_help()
        return 0
    request = request_of(args)
    if args.action == "forget":
        with ExitStack() as stack:
            vault = cache(lambda: stack.enter_context(closing(unlock(home, settings))))
            ask = partial(answers, home, settings, unlocked=vault)
            return forget.forget(args, request, ask, partial(_print, as_json=args.json))
    rows = answers(home, settings, request)
    if args.action == "export":
        return _export(rows, args)
    if args.action == "verify-forgotten":
        return _verify(rows, as_json=args.json)
    _print(rows, as_json=args.json, least_score=settings.memory.least_score)
    return 0


def _print(rows: Iterator[Row], *, as_json: bool, least_score: float = 0.0) -> None:
    if as_json:
        for row in rows:
            print_json(row, sys.stdout)
    else:
        for line in lines(rows, least_score):
            print(line)


def _verify(rows: Iterator[Row], *, as_json: bool) -> int:
    """Returns 1 if something is found."""
    found = False
    for row in rows:
        found = found or not row["clean"]
        if as_json:
            print_json(row, sys.stdout)
        else:
            print("\n".join(lines(iter([row]))))
    return int(found)


def request_of(args: argparse.Namespace) -> Row:
    """The command line as a JSON request."""
    request: Row = {"act": args.action}
    match args.action:
        case "list" | "search":
            request |= {"limit": args.limit, **filters.wish_of(args)}
        case "forget":
            request = forget.request_of(args)
        case "pin" | "unpin":
            request |= {"act": "mark", "pinned": args.action == "pin"}
        case "never-recall":
            request |= {"act": "mark", "never_recall": not args.undo}
        case "feedback":
            request |= {"act": "mark", "feedback": 1 if args.rightly == "+" else -1}
        case "verify-forgotten":
            request |= {"texts": lines_of_stdin(), "clean": args.clean}
        case "import":
            request["rows"] = _read(args.file)
    if "limit" in request and request["limit"] is not None and request["limit"] < 1:
        raise SettingsError("--limit must be a number, 1 or more.", mend="assistant memory --help")
    if getattr(args, "id", None) is not None:
        request["id"] = args.id
    if getattr(args, "text", None) is not None:
        text = " ".join(args.text)
        if text == STANDARD_STREAM:
            text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
        request["text"] = text
    return request


def _read(name: str) -> list[Any]:
    """The objects in a file of JSON lines; empty lines are skipped.

    Raises:
        SettingsError: a line is not JSON.
        StoreError: the file can't be read.
    """
    try:
        if name == STANDARD_STREAM:
            content = sys.stdin.buffer.read()
        else:
            content = Path(name).expanduser().read_bytes()
    except OSError as error:
        raise StoreError(
            f"The file {name} can't be read: {error.strerror}.", mend="Choose another file."
        ) from error
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            rows.append(json.loads(line.decode("utf-8")))
        except ValueError as error:
            raise SettingsError(
                f"Line {number} of {name} is not JSON. Nothing was imported.",
                mend="Correct the line, and import the file again.",
            ) from error
    return rows


def _export(rows: Iterator[Row], args: argparse.Namespace) -> int:
    if args.file == STANDARD_STREAM:
        for row in rows:
            print_json(row, sys.stdout)
        return 0
    file = export.expanded_path(args.file)
    count = export.write(rows, file)
    if args.json:
        print_json({"event": "exported", "file": str(file), "count": count}, sys.stdout)
    else:
        print(f"{count:,} memories written to {file}.")
    return 0
