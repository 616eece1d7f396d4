"""What `assistant timers`, `alarms`, `reminders`, `lists`, `notes` and `forms` have in common.

A running assistant answers the command. If none is running, the command opens the state itself.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import datetime

from assistant.errors import StoreError
from assistant.ipc import Row
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands import ReadSettings
from ui.commands.forget import STANDARD_STREAM
from ui.commands.json_lines import read_rows
from ui.commands.passphrase import unlock
from ui.commands.requests import ask
from ui.process.console import print_json, print_result
from ui.text import export
from ui.text.state import MANY, entries, lines

KINDS = {many: kind for kind, many in MANY.items()}
"""The kind of entries by the name of the command."""


def arguments_of(kind: str) -> Callable[[argparse.ArgumentParser], None]:
    """Return the function that defines the arguments of the command for this kind."""

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        many, also = MANY[kind], " and their items" if kind == "list" else ""
        actions = parser.add_subparsers(dest="action", metavar="ACTION")
        parser.set_defaults(action="list")
        actions.add_parser("list", help=f"show all {many}{also}; the default")
        _add_adding(actions, kind)
        removing = actions.add_parser("remove", help=f"remove {many}{' or items' if also else ''}")
        _add_ids(removing)
        clearing = actions.add_parser(
            "clear", help="remove all items of a list" if kind == "list" else f"remove all {many}"
        )
        if kind == "list":
            clearing.add_argument("name", metavar="NAME", help="name of the list")
        exporting = actions.add_parser("export", help=f"write all {many}{also} to a file, as JSON")
        exporting.add_argument("file", metavar="FILE", help="- means standard output")
        importing = actions.add_parser("import", help="read a file that `export` wrote")
        importing.add_argument("file", metavar="FILE", help="- means standard input")

    return add_arguments


def _add_adding(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    kind: str,
) -> None:
    """Add the actions that only lists and notes have. Timers and the like are set by speaking."""
    if kind == "list":
        adding = actions.add_parser("add", help="put items on a list, which is created if needed")
        adding.add_argument("name", metavar="NAME", help="name of the list")
        adding.add_argument("items", nargs="*", metavar="ITEM")
        ticking = actions.add_parser("tick", help="tick items off")
        _add_ids(ticking)
        ticking.add_argument("--undo", action="store_true", help="untick them instead")
    elif kind == "note":
        adding = actions.add_parser("add", help="write a note")
        adding.add_argument("text", nargs="+", metavar="TEXT")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="id, or its first characters, as in `list`"
    )


def add_id(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument that names one entry."""
    parser.add_argument("id", metavar="ID", help=f"id of the {what}, or its first characters")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    read = settings().settings
    rows = ask_state(home, read, request_of(args))
    if args.action == "export":
        export_rows(rows, args)
    else:
        print_rows(rows, as_json=args.json)
    return 0


def request_of(args: argparse.Namespace) -> Row:
    """Convert the command line to a JSON request.

    Raises:
        SettingsError: a file to import is not in JSON lines.
        StoreError: a file to import can't be read.
    """
    request: Row = {"act": f"state.{args.action}", "kind": KINDS[args.command]}
    match args.action:
        case "tick":
            request |= {"act": "state.change", "done": not args.undo}
        case "import":
            request["rows"] = read_rows(args.file)
        case "add" if "text" in args:
            request["text"] = " ".join(args.text)
    given = {name: getattr(args, name, None) for name in ("name", "items", "ids")}
    return request | {name: value for name, value in given.items() if value is not None}


def ask_state(home: Home, settings: Settings, request: Row) -> Iterator[Row]:
    """Yield the rows that answer a request about the state.

    Raises:
        SettingsError: the request is malformed.
        StoreError: the state can't be read or written, or there is no such entry.
    """
    request = {**request, "user": settings.general.user}

    def answer() -> Iterator[Row]:
        # This import takes a second; asking a running assistant doesn't need it.
        from assistant.compose import open_state_requests

        if request["act"] == "state.list" and not home.transcript.exists():
            yield {"event": "listed", "kind": request["kind"], "count": 0}
            return
        with (
            closing(unlock(home, settings)) as vault,
            open_state_requests(home, settings, vault) as state,
        ):
            yield from state.answer(request)

    return ask(home, request, answer)


def rows_of(
    home: Home, settings: Settings, kind: str, ids: Iterable[str], *, bare: bool = False
) -> Iterator[Row]:
    """Yield the rows of the forms or tasks with these ids, and of the entries that belong to them.

    Args:
        bare: whether to leave out the fields that an export doesn't have.

    Raises:
        StoreError: there is no such form or task.
    """
    wanted = list(ids)
    request: Row = {"act": "state.list", "kind": kind}
    rows = [row for row in ask_state(home, settings, request) if row["event"] == "entry"]
    wholes = [row["id"] for row in rows if row["kind"] == kind]
    for key in wanted:
        if not any(each.startswith(key) for each in wholes):
            raise StoreError(f"There is no {kind} {key!r:.40}.", mend=f"assistant {MANY[kind]}")
    chosen = {each for each in wholes if each.startswith(tuple(wanted))}
    for row in rows:
        if row["id"] in chosen or row["parent"] in chosen:
            drop = ("event", "short") if bare else ()
            yield {key: value for key, value in row.items() if key not in drop}


def print_rows(rows: Iterable[Row], *, as_json: bool) -> None:
    if as_json:
        for row in rows:
            print_json(row)
    else:
        for line in lines(rows, datetime.now().astimezone()):
            print(line)


def export_rows(rows: Iterator[Row], args: argparse.Namespace) -> None:
    if args.file == STANDARD_STREAM:
        for row in rows:
            print_json(row)
        return
    file = export.expanded_path(args.file)
    count = export.write(rows, file)
    print_result(
        {"event": "exported", "file": str(file), "count": count},
        f"{entries(count)} written to {file}.",
        as_json=args.json,
    )
