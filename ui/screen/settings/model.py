"""The settings as the settings tab shows and changes them. Independent of how they are drawn.

There are two versions: `loaded` has the current values of the file, the environment and the flags;
`started` has the values with which the running assistant was started.
"""

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import Loaded, Settings, load
from ui.session.settings_file import rows, set_setting, unset_setting

AT_ONCE = "screen."
"""Prefix of the keys of settings that apply without a restart."""
MOST_WANTED = (
    "general.profile",
    "persona.name",
    "tts.model",
    "tts.speed",
    "turn.wake_phrase",
    "audio.push_to_talk",
    "memory.enabled",
    "forget.grace_s",
    "general.sounds",
    "screen.theme",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, as the screen shows it. The `value` of a secret is masked."""

    key: str
    value: Any
    default: Any
    source: str
    """Where the value comes from: `default`, `flag`, or the name of a file or environment
    variable."""
    meaning: str
    choices: tuple[str, ...]
    """All possible values, e.g. `true` and `false`. Empty if they can't be listed."""
    waits: bool
    """Whether the value has changed, and takes effect only when the assistant is restarted."""

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def is_switch(self) -> bool:
        return self.choices == ("true", "false")

    @property
    def outweighed_by(self) -> str | None:
        """The flag or environment variable that overrides the settings file, if any, in words."""
        if self.source == "flag":
            return "a command-line flag"
        if self.source.startswith("ASSISTANT_"):
            return f"the environment variable {self.source}"
        return None


class SettingsModel:
    """Reads and writes settings. `write`, `unset` and `reread` block while they access the disk.

    Args:
        loaded: the settings with which the assistant was started.
    """

    def __init__(self, home: Home, loaded: Loaded) -> None:
        self._home = home
        self._flags = {
            key: _value(loaded.settings, key)
            for key, source in loaded.sources.items()
            if source == "flag"
        }
        self.loaded = loaded
        self.started = loaded.settings

    def settings(self) -> list[Setting]:
        return [
            Setting(
                key=row["key"],
                value=row["value"],
                default=row["default"],
                source=row["source"],
                meaning=" ".join((row["meaning"] or "").split()),
                choices=choices(row["key"]),
                waits=self._waits(row["key"]),
            )
            for row in rows(self.loaded)
        ]

    def setting(self, key: str) -> Setting:
        return next(each for each in self.settings() if each.key == key)

    def waiting(self) -> list[str]:
        """Return the keys of changed settings that need a restart to take effect."""
        return [each.key for each in self.settings() if each.waits]

    def write(self, key: str, value: str) -> None:
        """Write a setting to the settings file, and read the settings again.

        Raises:
            SettingsError: the value is invalid, or a flag or environment variable overrides it.
            StoreError: the file can't be written.
        """
        self._demand_free(key)
        set_setting(self._home, key, value)
        self.reread()

    def unset(self, key: str) -> None:
        """Remove a setting from the settings file, so that its default applies again.

        Raises:
            SettingsError: a flag or environment variable overrides the setting.
            StoreError: the file can't be written.
        """
        self._demand_free(key)
        if self.loaded.sources[key] != "default":
            unset_setting(self._home, key)
            self.reread()

    def reread(self) -> None:
        """Read the settings again.

        Raises:
            SettingsError: the file can't be read or contains an invalid value. `loaded` is then
                unchanged.
        """
        self.loaded = load(self._home.settings_file, flags=self._flags)

    def _waits(self, key: str) -> bool:
        if key.startswith(AT_ONCE):
            return False
        return bool(_value(self.started, key) != _value(self.loaded.settings, key))

    def _demand_free(self, key: str) -> None:
        above = self.setting(key).outweighed_by
        if above is not None:
            raise SettingsError(
                f"{key} comes from {above}, which overrides the settings file.",
                mend="Start the assistant without it, then change the setting here.",
            )


def choices(key: str) -> tuple[str, ...]:
    """Return all possible values of a setting as written in the settings file.

    The result is empty if the values can't be listed.
    """
    section, _, name = key.partition(".")
    annotation = type(getattr(Settings(), section)).model_fields[name].annotation
    if get_origin(annotation) in (Union, types.UnionType):
        [annotation] = [each for each in get_args(annotation) if each is not type(None)]
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(str(each) for each in get_args(annotation))
    if key == "general.profile":
        from models.selection import PROFILE_NAMES

        return PROFILE_NAMES
    return ()


def shown(value: Any) -> str:
    """Return a value as the screen shows it, e.g. "on" for true."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {each}" for name, each in value.items()) or "none"
    return str(value) if value != "" else "none"


def typed(value: Any) -> str:
    """Return a value as the user types it."""
    if isinstance(value, dict):
        inside = ", ".join(f'"{name}" = "{each}"' for name, each in value.items())
        return f"{{ {inside} }}" if inside else ""
    return "" if value is None else str(value)


def _value(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)
