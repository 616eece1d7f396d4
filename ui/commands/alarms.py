"""`assistant alarms`: shows and changes alarms."""

from ui.commands.entries import arguments_of, run

__all__ = ["add_arguments", "run"]

add_arguments = arguments_of("alarm")
