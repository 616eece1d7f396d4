"""`assistant config`: show each setting and where it came from; change the settings file."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.paths import Home
from assistant.settings import Loaded, load
from ui.process.console import print_json
from ui.session.settings_file import masked, rows, set_setting, unset_setting


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "show the settings and where each comes from; change them"
    parser = commands.add_parser("config", help=summary, description=summary)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    setting = actions.add_parser("set", help="write a setting to the settings file")
    setting.add_argument("key", metavar="SECTION.NAME")
    setting.add_argument("value", metavar="VALUE")
    unsetting = actions.add_parser("unset", help="remove a setting from the settings file")
    unsetting.add_argument("key", metavar="SECTION.NAME")
    actions.add_parser("path", help="print the path of the settings file")


def run(args: argparse.Namespace, home: Home, flags: Mapping[str, str]) -> int:
    if args.action == "path":
        _say(args.json, {"event": "path", "path": str(home.settings_file)}, home.settings_file)
    elif args.action == "set":
        value = set_setting(home, args.key, args.value)
        _say(args.json, _changed(args.key, value), f"{args.key} = {masked(args.key, value)}")
    elif args.action == "unset":
        unset_setting(home, args.key)
        _say(args.json, _changed(args.key, None), f"{args.key} is no longer in the file.")
    else:
        loaded = load(home.settings_file, flags=flags)
        if args.json:
            print_json({"event": "config", "settings": rows(loaded)}, sys.stdout)
        else:
            _show(loaded, home.settings_file)
    return 0


def _changed(key: str, value: Any) -> dict[str, Any]:
    return {"event": "setting", "key": key, "value": masked(key, value)}


def _say(as_json: bool, value: dict[str, Any], text: object) -> None:
    if as_json:
        print_json(value, sys.stdout)
    else:
        print(text)


def _show(loaded: Loaded, file: Path) -> None:
    print(f"# {file}{'' if file.exists() else ' (does not exist yet: all defaults)'}")
    section = ""
    for row in rows(loaded):
        head, _, name = row["key"].partition(".")
        if head != section:
            section = head
            print(f"\n[{section}]")
        value = "unset" if row["value"] is None else json.dumps(row["value"], ensure_ascii=False)
        source = "" if row["source"] == "default" else f"    ← {row['source']}"
        print(f"{name} = {value}{source}")
        if row["meaning"]:
            print("    " + " ".join(row["meaning"].split()))
