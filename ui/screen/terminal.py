"""Textual's driver, on a terminal that the descriptors 1 and 2 no longer lead to."""

import os
import sys
from typing import Any, TextIO

from textual.driver import Driver


def drawing_on(out: TextIO) -> type[Driver] | None:
    """Draws on `out`, while what libraries write to the descriptors 1 and 2 goes elsewhere; None
    where Textual's own choice does (Windows)."""
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            vars(self)["_file"] = out

        def _get_terminal_size(self) -> tuple[int, int]:
            try:
                width, height = os.get_terminal_size(out.fileno())
            except OSError:
                return super()._get_terminal_size()
            return width or 80, height or 24

    return TerminalDriver
