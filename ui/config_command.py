"""`assistant config`: show each setting and where it came from; change the settings file."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from assistant.errors import SettingsError, StoreError
from assistant.paths import Home
from assistant.settings import Loaded, Settings, load
from ui.console import print_json

SECRET = frozenset({"llm.api_key"})
MASK = "•••"


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "show the settings and where each comes from; change them"
    parser = commands.add_parser("config", help=summary, description=summary)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    setting = actions.add_parser("set", help="write a setting to the settings file")
    setting.add_argument("key", metavar="SECTION.NAME")
    setting.add_argument("value", metavar="VALUE")
    unsetting = actions.add_parser("unset", help="take a setting out of the settings file")
    unsetting.add_argument("key", metavar="SECTION.NAME")
    actions.add_parser("path", help="say where the settings file is")


def run(args: argparse.Namespace, home: Home, flags: Mapping[str, str]) -> int:
    if args.action == "path":
        _say(args.json, {"event": "path", "path": str(home.settings_file)}, home.settings_file)
    elif args.action == "set":
        value = set_setting(home, args.key, args.value)
        _say(args.json, _changed(args.key, value), f"{args.key} = {_shown(args.key, value)}")
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


def rows(loaded: Loaded) -> list[dict[str, Any]]:
    """Every setting with its value, default, source and meaning; secrets masked."""
    defaults = dict(Settings())
    return [
        {
            "key": (key := f"{section}.{name}"),
            "value": _shown(key, getattr(values, name)),
            "default": getattr(defaults[section], name),
            "source": loaded.sources[key],
            "meaning": field.description,
        }
        for section, values in loaded.settings
        for name, field in type(values).model_fields.items()
    ]


def set_setting(home: Home, key: str, text: str) -> Any:
    """Write one setting, comments and order of the file kept; returns the value as written.

    Raises:
        SettingsError: no such setting, or a value that doesn't fit it.
        StoreError: the file can't be written.
    """
    section, name = _split(key)
    flags = {key: _typed(key, text)}
    settings = load(home.settings_file, environment={}, flags=flags).settings
    value = getattr(getattr(settings, section), name)
    document = _read(home.settings_file)
    table = document.setdefault(section, tomlkit.table())
    table[name] = value
    _write(home, document)
    return value


def unset_setting(home: Home, key: str) -> None:
    """Take one setting out of the file; works for unknown ones, so that a typo can be mended.

    Raises:
        SettingsError: it isn't in the file.
        StoreError: the file can't be written.
    """
    section, name = _split(key)
    document = _read(home.settings_file)
    table = document.get(section)
    if not isinstance(table, Table) or name not in table:
        raise SettingsError(f"{key} is not in {home.settings_file}.", mend="assistant config")
    del table[name]
    if not table:
        del document[section]
    _write(home, document)


def _split(key: str) -> tuple[str, str]:
    section, _, name = key.partition(".")
    if not section or not name:
        raise SettingsError(
            f"A setting is named SECTION.NAME, not {key!r}.", mend="assistant config"
        )
    return section, name


def _typed(key: str, text: str) -> Any:
    """What was typed; of settings that are a table, the table that it spells."""
    section, _, name = key.partition(".")
    if not isinstance(getattr(getattr(Settings(), section, None), name, None), dict):
        return text
    try:
        return tomlkit.parse(f"value = {text}").unwrap()["value"]
    except TOMLKitError as error:
        raise SettingsError(
            f'{key} is a table, such as {{ "voice.mute" = "m" }}, not {text!r}.'
        ) from error


def _read(file: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"The settings file {file} can't be read: {error}.") from error


def _write(home: Home, document: tomlkit.TOMLDocument) -> None:
    """Replace the file in one step; it may hold a key, so that only its owner may read it."""
    home.create()
    file = home.settings_file
    new = file.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(tomlkit.dumps(document).encode())
        new.replace(file)
    except OSError as error:
        raise StoreError(f"The settings file {file} can't be written: {error.strerror}.") from error


def _shown(key: str, value: Any) -> Any:
    return MASK if key in SECRET and value else value


def _changed(key: str, value: Any) -> dict[str, Any]:
    return {"event": "setting", "key": key, "value": _shown(key, value)}


def _say(as_json: bool, value: dict[str, Any], text: object) -> None:
    if as_json:
        print_json(value, sys.stdout)
    else:
        print(text)


def _show(loaded: Loaded, file: Path) -> None:
    print(f"# {file}{'' if file.exists() else ' (not written yet: all defaults)'}")
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
