"""Read and change the settings file."""

from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from assistant.errors import SettingsError, StoreError
from assistant.paths import Home, replacing
from assistant.settings import Loaded, Section, Settings, load
from assistant.settings_errors import TOOL_SERVERS

SECRET = frozenset({"llm.api_key"})
"""Keys of settings whose values are never shown."""

MASK = "•••"
"""The text shown instead of a secret value."""


def rows(loaded: Loaded) -> list[dict[str, Any]]:
    """Return all settings with key, value, default, source and meaning. Secrets are masked."""
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
        if isinstance(values, Section)
        for name, field in type(values).model_fields.items()
    ]


def tool_server_rows(loaded: Loaded) -> list[dict[str, Any]]:
    """Return the tool servers with key, value and source. The values of their environment variables
    may be secrets, and are masked."""
    return [
        {
            "key": (key := f"mcp.{name}"),
            "value": server.model_dump(mode="json", exclude_defaults=True)
            | ({"env": dict.fromkeys(server.env, MASK)} if server.env else {}),
            "default": None,
            "source": loaded.sources[key],
            "meaning": None,
        }
        for name, server in loaded.settings.mcp.items()
    ]


def set_setting(home: Home, key: str, text: str) -> Any:
    """Write one setting to the settings file, and preserve the file's comments and order.

    Returns:
        The value as written, e.g. a number for a text with digits.

    Raises:
        SettingsError: there is no such setting, or the value is invalid.
        StoreError: the file can't be written.
    """
    section, name = _split(key)
    if section == TOOL_SERVERS:
        raise SettingsError(
            "A tool server is set up in the settings file itself, in a table `[mcp.NAME]`.",
            mend=f"Edit {home.settings_file}.",
        )
    flags = {key: _typed(key, text)}
    settings = load(home.settings_file, environment={}, flags=flags).settings
    value = getattr(getattr(settings, section), name)
    document = _read(home.settings_file)
    table = document.setdefault(section, tomlkit.table())
    table[name] = value
    _write(home, document)
    return value


def unset_setting(home: Home, key: str) -> None:
    """Remove a setting from the settings file. Unknown keys, e.g. typos, can be removed, too.

    Raises:
        SettingsError: the setting isn't in the file.
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
            f"A setting's name has the form SECTION.NAME, not {key!r}.", mend="assistant config"
        )
    return section, name


def _typed(key: str, text: str) -> Any:
    """Return the text as typed; if the setting is a table, parse the text as a TOML table."""
    section, _, name = key.partition(".")
    if not isinstance(getattr(getattr(Settings(), section, None), name, None), dict):
        return text
    try:
        return tomlkit.parse(f"value = {text}").unwrap()["value"]
    except TOMLKitError as error:
        raise SettingsError(
            f'{key} must be a table, such as {{ "voice.mute" = "m" }}, not {text!r}.'
        ) from error


def _read(file: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"The settings file {file} can't be read: {error}.") from error


def _write(home: Home, document: tomlkit.TOMLDocument) -> None:
    """Replace the settings file atomically.

    Only the file's owner may read it, because it may contain an API key.
    """
    home.create()
    file = home.settings_file
    try:
        with replacing(file) as out:
            out.write(tomlkit.dumps(document).encode())
    except OSError as error:
        raise StoreError(f"The settings file {file} can't be written: {error.strerror}.") from error


def masked(key: str, value: Any) -> Any:
    return MASK if key in SECRET and value else value
