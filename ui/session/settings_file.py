"""Reads and changes the settings file."""

import os
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from assistant.errors import SettingsError, StoreError
from assistant.paths import Home
from assistant.settings import Loaded, Settings, load

SECRET = frozenset({"llm.api_key"})


MASK = "•••"


def rows(loaded: Loaded) -> list[dict[str, Any]]:
    """Every setting with its value, default, source and meaning; secrets masked."""
    defaults = dict(Settings())
    return [
        {
            "key": (key := f"{section}.{name}"),
            "value": masked(key, getattr(values, name)),
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


def masked(key: str, value: Any) -> Any:
    return MASK if key in SECRET and value else value
