"""Explains what is wrong with a setting, and how to correct it."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from assistant.errors import SettingsError

ENVIRONMENT_PREFIX = "ASSISTANT_"
TOOL_SERVERS = "mcp"
"""The section with a table for each tool server. The user chooses the tables' names."""

TAKEN = {
    "int": "a whole number",
    "int_from_float": "a whole number",
    "float": "a number",
    "finite_number": "a number",
    "bool": "true or false",
    "string": "text",
    "dict": "a table",
    "model": "a table",
    "list": "a list",
    "tuple": "a list",
}
"""The kind of value that a setting takes, by pydantic's error type without the ending `_type` or
`_parsing`."""


def explained(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    """Return an error for the user: which setting is wrong, where it comes from, and what it takes.

    Args:
        sources: the source of each setting, as in `Loaded`.
    """
    first = error.errors()[0]
    depth = 3 if first["loc"][0] == TOOL_SERVERS else 2
    key = ".".join(str(part) for part in first["loc"][:depth])
    source = next((sources[k] for k in sources if _concerns(k, key)), "default")
    if first["type"] == "extra_forbidden":
        message = f"There is no setting `{key}` (from {source})."
    elif first["type"] == "value_error":  # the value may be a whole table, with secrets
        message = f"The setting `{key}` {first['ctx']['error']} (from {source})."
    else:
        message = f"The setting `{key}` {_wanted(first)}, not {first['input']!r} (from {source})."
    return SettingsError(message, mend=_mend(key, source))


def _concerns(setting: str, key: str) -> bool:
    """Whether a setting is, contains or is part of the one that is wrong."""
    return setting == key or setting.startswith(f"{key}.") or key.startswith(f"{setting}.")


def _wanted(error: Mapping[str, Any]) -> str:
    """The values that the setting takes, as precisely as pydantic's error describes them."""
    kind, known = error["type"].removesuffix("_type").removesuffix("_parsing"), error.get("ctx", {})
    match kind:
        case "literal_error":
            return f"takes {known['expected'].replace(chr(39), '`')}"
        case "greater_than_equal":
            return f"takes {known['ge']} or more"
        case "less_than_equal":
            return f"takes {known['le']} or less"
        case "greater_than" | "less_than":
            more = "more" if kind == "greater_than" else "less"
            return f"takes {more} than {known.get('gt', known.get('lt'))}"
    return f"takes {TAKEN.get(kind, 'something else')}"


def _mend(key: str, source: str) -> str:
    """A step that works even while the settings can't be read."""
    if source.startswith(ENVIRONMENT_PREFIX):
        return f"Unset or correct the environment variable {source}."
    if source in ("default", "flag"):
        return "assistant config"
    plain = "." in key and not key.startswith(f"{TOOL_SERVERS}.")
    return f"assistant config unset {key}" if plain else f"Correct {source}."
