"""The settings while a screen is open: those read from files and flags, and those that the running
assistant was started with. Knows nothing about drawing."""

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import Loaded, Settings, load
from ui.session.settings_file import rows, set_setting, unset_setting

AT_ONCE = "screen."
"""Start of the keys of the screen's own settings, which apply without a restart."""
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
    """A setting as shown; secrets are masked in `value`."""

    key: str
    value: Any
    default: Any
    source: str
    """`default`, a file, an environment variable or `flag`."""
    meaning: str
    choices: tuple[str, ...]
    """All possible values, if known; `true` and `false` for a switch."""
    waits: bool
    """The running assistant doesn't use this value yet."""

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def is_switch(self) -> bool:
        return self.choices == ("true", "false")

    @property
    def outweighed_by(self) -> str | None:
        """What overrides the settings file, if anything."""
        if self.source == "flag":
            return "a command-line flag"
        if self.source.startswith("ASSISTANT_"):
            return f"the environment variable {self.source}"
        return None


class SettingsModel:
    """Reads and writes settings; everything but `settings` may block on the disk.

    Args:
        loaded: the settings that the assistant was started with.
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
        """Keys of settings that take effect at the next start."""
        return [each.key for each in self.settings() if each.waits]

    def write(self, key: str, value: str) -> None:
        """Write to the settings file, and read it again.

        Raises:
            SettingsError: the value is invalid, or something overrides the file.
            StoreError: the file can't be written.
        """
        self._demand_free(key)
        set_setting(self._home, key, value)
        self.reread()

    def unset(self, key: str) -> None:
        """Restore the default, unless it is in effect. Raises as `write`."""
        self._demand_free(key)
        if self.loaded.sources[key] != "default":
            unset_setting(self._home, key)
            self.reread()

    def reread(self) -> None:
        """Read the settings again. Raises SettingsError: a source can't be read; the settings are
        then unchanged."""
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
    """All possible values of a setting, as they are written; empty if they can't be listed."""
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
    """A value as the screen shows it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {each}" for name, each in value.items()) or "none"
    return str(value) if value != "" else "none"


def typed(value: Any) -> str:
    """A value as it is typed, so that it can be read back."""
    if isinstance(value, dict):
        inside = ", ".join(f'"{name}" = "{each}"' for name, each in value.items())
        return f"{{ {inside} }}" if inside else ""
    return "" if value is None else str(value)


def _value(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)
