"""A list to choose from."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList

LISTED: list[BindingType] = [
    Binding("j", "cursor_down", show=False, id="list.down"),
    Binding("k", "cursor_up", show=False, id="list.up"),
    Binding("g", "first", show=False, id="list.top"),
    Binding("G", "last", show=False, id="list.bottom"),
]


class Listing(OptionList):
    """A list with letter keys for moving, too."""

    BINDINGS: ClassVar[list[BindingType]] = LISTED
    DEFAULT_CSS = """
    Listing { border: none; height: 1fr; padding: 0; background: transparent; }
    Listing:focus { border: none; }
    Listing:nocolor > .option-list--option-highlighted { text-style: bold underline; }
    """
