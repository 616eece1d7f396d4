"""Lists from which the user chooses an option, and an input line that filters a list."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option


class Listing(OptionList):
    """A list in which the cursor can also be moved with the keys j, k, g and G."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False, id="list.down"),
        Binding("k", "cursor_up", show=False, id="list.up"),
        Binding("g", "first", show=False, id="list.top"),
        Binding("G", "last", show=False, id="list.bottom"),
    ]
    DEFAULT_CSS = """
    Listing { border: none; height: 1fr; padding: 0; background: transparent; }
    Listing:focus { border: none; }
    Listing:nocolor > .option-list--option-highlighted { text-style: bold underline; }
    """

    @property
    def here(self) -> str | None:
        """The id of the option under the cursor, if any."""
        option = self.highlighted_option
        return option.id if option is not None else None

    def refill(self, options: Iterable[Option]) -> None:
        """Replace the options without moving the cursor.

        If only the texts of some options have changed, only these options are drawn again.
        """
        new = list(options)
        if [_identity(each) for each in new] == [_identity(each) for each in self.options]:
            for index, option in enumerate(new):
                if option.prompt != self.options[index].prompt:
                    self.replace_option_prompt_at_index(index, option.prompt)
            return
        place = self.highlighted
        self.clear_options()
        self.add_options(new)
        if place is None:
            self.action_first()
        elif new:
            self.highlighted = min(place, len(new) - 1)


def _identity(option: Option) -> tuple[str | None, bool]:
    return option.id, option.disabled


class Rows(Listing):
    """A list with exactly one line per option."""

    DEFAULT_CSS = "Rows { padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }"


class FilterLine(Input):
    """An input line that filters a list while the user types. Hidden until `open` is called.

    The key `enter` focuses the list, and `esc` removes the filter.

    Args:
        results: type of the list, which must have the same parent as this line.
        narrow: called when the text has changed. Must show only the options that contain all
            `words`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Show all", id="filter.leave"),
        Binding("enter,down", "submit", "Go to the list", id="filter.go"),
    ]
    DEFAULT_CSS = """
    FilterLine { display: none; height: 1; border: none; padding: 0 1; }
    FilterLine:focus { border: none; }
    """

    def __init__(
        self, placeholder: str, results: type[Widget], narrow: Callable[[], object]
    ) -> None:
        super().__init__(placeholder=placeholder, compact=True)
        self._results = results
        self._narrow = narrow

    @property
    def words(self) -> list[str]:
        """The words that an option must contain in order to be shown, in lower case."""
        return self.value.casefold().split()

    def open(self) -> None:
        """Show this line and focus it. The focus moves at once, so that no typed key is lost."""
        self.display = True
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        self.clear()
        self.display = False
        self.call_after_refresh(self._go)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._go()

    def _go(self) -> None:
        assert self.parent is not None
        self.parent.query_one(self._results).focus()
