"""`assistant forms`: shows, changes and exports filled-in forms, and checks definitions."""

import argparse
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from assistant.errors import SettingsError, StoreError
from assistant.forms import Form, FormLibrary, Value, read, read_form
from assistant.ipc import Row
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands import ReadSettings
from ui.commands.entries import add_id, ask_state, export_rows, print_rows, rows_of
from ui.commands.forget import STANDARD_STREAM
from ui.commands.json_lines import read_rows
from ui.process.console import print_json, print_result
from ui.text import export
from ui.text.forms import definition_line, markdown
from ui.text.state import entries
from ui.text.terminal_safe import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="list")
    actions.add_parser("list", help="show filled-in forms, and those you can fill in; the default")
    showing = actions.add_parser("show", help="show what a form contains")
    add_id(showing, "form")
    past = actions.add_parser("history", help="show changes and the words that led to them")
    add_id(past, "form or answer")
    changing = actions.add_parser("change", help="change an answer")
    add_id(changing, "answer")
    changing.add_argument("words", nargs="+", metavar="ANSWER", help="such as: next Friday")
    removing = actions.add_parser("remove", help="remove forms or answers")
    removing.add_argument("ids", nargs="+", metavar="ID", help="as in `list` and `show`")
    actions.add_parser("clear", help="remove all filled-in forms")
    exporting = actions.add_parser("export", help="write filled-in forms to a file, as JSON")
    exporting.add_argument("file", metavar="FILE", help="- means standard output")
    exporting.add_argument("ids", nargs="*", metavar="ID", help="only these forms")
    exporting.add_argument("--markdown", action="store_true", help="write Markdown for people")
    importing = actions.add_parser("import", help="read a file that `export` wrote as JSON")
    importing.add_argument("file", metavar="FILE", help="- means standard input")
    checking = actions.add_parser("check", help="check the definition of a form")
    checking.add_argument("file", metavar="FILE", type=Path)


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    if args.action == "check":
        return _check(args)
    read_settings = settings().settings
    library = FormLibrary(home.forms)
    match args.action:
        case "list":
            _list(args, home, read_settings, library)
        case "show":
            print_rows(rows_of(home, read_settings, "form", [args.id]), as_json=args.json)
        case "export":
            _export(args, home, read_settings, library)
        case _:
            request = _request(args, home, read_settings, library)
            print_rows(ask_state(home, read_settings, request), as_json=args.json)
    return 0


def _check(args: argparse.Namespace) -> int:
    """Check a definition. Raises SettingsError if something is wrong with it."""
    form = read_form(args.file)
    row = {"event": "checked", **form.model_dump(mode="json")}
    print_result(row, f"The form is all right. {definition_line(form)}", as_json=args.json)
    return 0


def _list(args: argparse.Namespace, home: Home, settings: Settings, library: FormLibrary) -> None:
    rows = ask_state(home, settings, {"act": "state.list", "kind": "form"})
    print_rows((row for row in rows if row.get("kind") != "slot"), as_json=args.json)
    if args.json:
        for form in library.forms():
            print_json({"event": "definition", **form.model_dump(mode="json")})
        for problem in library.problems():
            print_json({"event": "problem", "message": str(problem)})
        return
    print("\nYou can fill in:")
    for form in library.forms():
        print(f"  {definition_line(form)}")
    for problem in library.problems():
        print(f"\n{plain(str(problem))}")


def _export(args: argparse.Namespace, home: Home, settings: Settings, library: FormLibrary) -> None:
    rows: Iterable[Row] = (
        rows_of(home, settings, "form", args.ids, bare=True)
        if args.ids
        else ask_state(home, settings, {"act": "state.export", "kind": "form"})
    )
    if not args.markdown:
        export_rows(iter(rows), args)
        return
    rows = list(rows)
    lines = markdown(rows, {each.key: each for each in library.forms()})
    if args.file == STANDARD_STREAM:
        for line in lines:
            print(line)
        return
    file = export.expanded_path(args.file)
    export.write_lines(lines, file)
    row = {"event": "exported", "file": str(file), "count": len(rows)}
    print_result(row, f"{entries(len(rows))} written to {file}.", as_json=args.json)


def _request(args: argparse.Namespace, home: Home, settings: Settings, library: FormLibrary) -> Row:
    """Convert the command line to a JSON request."""
    request: Row = {"act": f"state.{args.action}", "kind": "form"}
    match args.action:
        case "import":
            return {**request, "rows": read_rows(args.file)}
        case "clear":
            return request
        case "remove":
            return {**request, "ids": args.ids}
        case "change":
            words = " ".join(args.words)
            value = _value(home, settings, library, args.id, words)
            return {**request, "ids": [args.id], "value": value}
    return {**request, "ids": [args.id]}


def _value(home: Home, settings: Settings, library: FormLibrary, key: str, words: str) -> Value:
    """Parse the words as a new value of a slot.

    Raises:
        SettingsError: the words are not a valid value of the slot.
        StoreError: there is no such slot.
    """
    rows = list(ask_state(home, settings, {"act": "state.list", "kind": "form"}))
    found = [row for row in rows if row["event"] == "entry" and row["kind"] == "slot"]
    row = next((each for each in found if each["id"].startswith(key)), None)
    if row is None:
        raise StoreError(f"There is no answer {key!r:.40}.", mend="assistant forms show ID")
    form = _form_of(row, rows, library)
    slot = form.slot(row["content"]["slot"]) if form is not None else None
    if slot is None:
        raise SettingsError("The definition of this form no longer exists.", mend="assistant forms")
    value = read(slot, words, datetime.now().astimezone().date())
    if value is None:
        raise SettingsError(f"{words!r:.60} is not a valid {slot.type}: {slot.ask}")
    return value


def _form_of(row: Row, rows: Iterable[Row], library: FormLibrary) -> Form | None:
    owner = next(each for each in rows if each.get("id") == row["parent"])
    return library.get(owner["content"]["form"])
