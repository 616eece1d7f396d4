"""The settings while a screen is open: what the files and flags say, and what the assistant that
runs was started with. Knows nothing of how they are drawn."""

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import Loaded, Settings, load
from ui.session.settings_file import rows, set_setting, unset_setting

AT_ONCE = "screen."
"""Settings of the screen itself need no other process."""
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
    """One setting as it is shown. `value` is masked where it is a secret."""

    key: str
    value: Any
    default: Any
    source: str
    """`default`, a file, an environment variable or `flag`."""
    meaning: str
    choices: tuple[str, ...]
    """All that it can be, where that is known; `true` and `false` of a switch."""
    waits: bool
    """The assistant that runs doesn't know of this value yet."""

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def is_switch(self) -> bool:
        return self.choices == ("true", "false")

    @property
    def outweighed_by(self) -> str | None:
        """What stands above the settings file, where something does."""
        if self.source == "flag":
            return "a flag of the command line"
        if self.source.startswith("ASSISTANT_"):
            return f"the environment variable {self.source}"
        return None


class SettingsModel:
    """Reads and writes them; everything but `settings` may block on the disk.

    Args:
        loaded: what the assistant was started with.
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
        """Keys of what takes effect with the next start."""
        return [each.key for each in self.settings() if each.waits]

    def write(self, key: str, value: str) -> None:
        """Into the settings file; what is read afterwards has it.

        Raises:
            SettingsError: it doesn't fit, or something above the file decides.
            StoreError: the file can't be written.
        """
        self._demand_free(key)
        set_setting(self._home, key, value)
        self.reread()

    def unset(self, key: str) -> None:
        """Back to the default. Raises as `write`. Nothing happens where it is that already."""
        self._demand_free(key)
        if self.loaded.sources[key] != "default":
            unset_setting(self._home, key)
            self.reread()

    def reread(self) -> None:
        """Raises SettingsError: a source can't be read; what was read before stays."""
        self.loaded = load(self._home.settings_file, flags=self._flags)

    def restarted(self) -> None:
        """The assistant was started anew with what is there now."""
        self.started = self.loaded.settings

    def _waits(self, key: str) -> bool:
        if key.startswith(AT_ONCE):
            return False
        return bool(_value(self.started, key) != _value(self.loaded.settings, key))

    def _demand_free(self, key: str) -> None:
        above = self.setting(key).outweighed_by
        if above is not None:
            raise SettingsError(
                f"{key} comes from {above}, which outweighs the settings file.",
                mend="Start the assistant without it, then change the setting here.",
            )


def choices(key: str) -> tuple[str, ...]:
    """All values of a setting, as they are written; none where there is no end of them."""
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
    """A value as the screen says it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {each}" for name, each in value.items()) or "none"
    return str(value) if value != "" else "none"


def typed(value: Any) -> str:
    """A value as it is typed, and read again from the same line."""
    if isinstance(value, dict):
        inside = ", ".join(f'"{name}" = "{each}"' for name, each in value.items())
        return f"{{ {inside} }}" if inside else ""
    return "" if value is None else str(value)


def _value(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)
