"""`assistant config`: shows each setting and where it comes from, or changes the settings file."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from assistant.paths import Home
from assistant.settings import Loaded
from ui.commands import ReadSettings
from ui.process.console import print_result
from ui.session.settings_file import masked, rows, set_setting, tool_server_rows, unset_setting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="show")
    setting = actions.add_parser("set", help="write a setting to the settings file")
    setting.add_argument("key", metavar="SECTION.NAME")
    setting.add_argument("value", metavar="VALUE")
    unsetting = actions.add_parser("unset", help="remove a setting from the settings file")
    unsetting.add_argument("key", metavar="SECTION.NAME")
    actions.add_parser("path", help="print the path of the settings file")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    file = home.settings_file
    row: dict[str, Any]
    match args.action:
        case "path":
            row, lines = {"event": "path", "path": str(file)}, [str(file)]
        case "set":
            value = masked(args.key, set_setting(home, args.key, args.value))
            row = {"event": "setting", "key": args.key, "value": value}
            lines = [f"{args.key} = {value}"]
        case "unset":
            unset_setting(home, args.key)
            row = {"event": "setting", "key": args.key, "value": None}
            lines = [f"{args.key} is no longer in the file."]
        case _:
            loaded = settings()
            row = {"event": "config", "settings": [*rows(loaded), *tool_server_rows(loaded)]}
            row["retired"] = dict(loaded.retired)
            missing = "" if file.exists() else " (does not exist yet: all defaults)"
            lines = [f"# {file}{missing}", *_retired(loaded), *_lines(loaded)]
    print_result(row, *lines, as_json=args.json)
    return 0


def _retired(loaded: Loaded) -> Iterator[str]:
    for key, source in loaded.retired.items():
        yield f"# {key} (from {source}) no longer has any effect; remove it."


def _lines(loaded: Loaded) -> Iterator[str]:
    section = ""
    for row in [*rows(loaded), *tool_server_rows(loaded)]:
        head, _, name = row["key"].partition(".")
        if head != section:
            section = head
            yield f"\n[{section}]"
        value = "unset" if row["value"] is None else json.dumps(row["value"], ensure_ascii=False)
        source = "" if row["source"] == "default" else f"    ← {row['source']}"
        yield f"{name} = {value}{source}"
        if row["meaning"]:
            yield "    " + " ".join(row["meaning"].split())
