"""The command line.

Each command's module has `add_arguments(parser)`, and `run(args, home, settings)`, which returns
the exit code and raises AssistantError.
"""

from collections.abc import Callable

from assistant.settings import Loaded

ReadSettings = Callable[[], Loaded]
"""Reads the settings, with this command line's flags on top. Raises SettingsError."""
