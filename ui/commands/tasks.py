"""`assistant tasks`: shows, changes, removes, exports and imports tasks and their lines."""

import argparse

from assistant.ipc import Row
from assistant.paths import Home
from ui.commands import ReadSettings
from ui.commands.entries import add_id, ask_state, export_rows, print_rows, rows_of
from ui.commands.json_lines import read_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="list")
    actions.add_parser("list", help="show all tasks and what is settled; the default")
    showing = actions.add_parser("show", help="show one task")
    add_id(showing, "task")
    past = actions.add_parser("history", help="show what a task or line said before it was changed")
    add_id(past, "task or line")
    changing = actions.add_parser("change", help="change a line")
    add_id(changing, "line")
    changing.add_argument("text", nargs="+", metavar="TEXT")
    removing = actions.add_parser("remove", help="remove tasks or lines")
    removing.add_argument("ids", nargs="+", metavar="ID", help="as in `list`")
    actions.add_parser("clear", help="remove all tasks")
    exporting = actions.add_parser("export", help="write all tasks to a file, as JSON")
    exporting.add_argument("file", metavar="FILE", help="- means standard output")
    importing = actions.add_parser("import", help="read a file that `export` wrote")
    importing.add_argument("file", metavar="FILE", help="- means standard input")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    read_settings = settings().settings
    if args.action == "show":
        rows = rows_of(home, read_settings, "task", [args.id])
    else:
        rows = ask_state(home, read_settings, _request(args))
    if args.action == "export":
        export_rows(rows, args)
    else:
        print_rows(rows, as_json=args.json)
    return 0


def _request(args: argparse.Namespace) -> Row:
    """Convert the command line to a JSON request.

    Raises:
        SettingsError: a line of the file to import is not JSON.
        StoreError: the file to import can't be read.
    """
    request: Row = {"act": f"state.{args.action}", "kind": "task"}
    match args.action:
        case "import":
            request["rows"] = read_rows(args.file)
        case "remove":
            request["ids"] = args.ids
        case "history" | "change":
            request["ids"] = [args.id]
    if args.action == "change":
        request["text"] = " ".join(args.text)
    return request
