"""The command line.

Each command has a module with two functions. `add_arguments(parser)` defines its arguments.
`run(args, home, settings)` carries it out, returns the exit code, and may raise AssistantError.
"""

from collections.abc import Callable

from assistant.settings import Loaded

ReadSettings = Callable[[], Loaded]
"""A function that reads the settings and applies the flags of this command line. It raises
SettingsError if a setting is invalid."""
