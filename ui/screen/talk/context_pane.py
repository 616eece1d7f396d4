"""Exactly what the model saw in a turn, section by section, and how much of it was cached."""

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ui.screen.widgets.dialogs import TextDialog
from ui.screen.widgets.listing import Listing
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState, Turn, chosen

EMPTY = "What the model is shown in each turn appears here, with its tokens."
HIDDEN_TEXT = "Something has been forgotten since. This may quote it, so it is no longer shown."
NAME = 15
BAR = 10


class ContextPane(Pane):
    """Of the newest turn, or of a chosen one."""

    DEFAULT_CSS = """
    ContextPane { border: round $primary; padding: 0 1; height: 1fr; }
    ContextPane:focus-within { border: round $accent; }
    ContextPane > #budget { height: auto; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__(id="context")
        self.border_title = "Context"
        self._turn: Turn | None = None
        self._drawn: tuple[object, ...] = ()
        self._chosen: int | None = None
        self._veiled = False
        """The text may quote what has been forgotten since."""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="budget", markup=False)
        yield Listing()

    def choose(self, turn: int | None) -> None:
        """Show this turn from the next drawing on; None: the newest."""
        self._chosen = turn

    def show(self, state: ScreenState) -> None:
        turn = chosen(state, self._chosen)
        self._veiled = turn is not None and any(
            each.at >= turn.at for each in state.forgettings if not each.undone
        )
        drawn = (turn.number, turn.sections, turn.read_tokens) if turn is not None else ()
        if turn is None or not turn.sections or drawn == self._drawn:
            return
        self._turn, self._drawn = turn, drawn
        self.border_title = f"Context of turn {turn.number}"
        read = turn.read_tokens
        self.border_subtitle = f"{read:,} tokens newly read" if read is not None else ""
        self.query_one("#budget", Static).update(_budget(turn))
        listing = self.query_one(Listing)
        place = listing.highlighted
        cached = turn.cached() or (0,) * len(turn.sections)
        listing.clear_options()
        listing.add_options(
            Option(_line(section.name, section.tokens, known, turn.tokens))
            for section, known in zip(turn.sections, cached, strict=True)
        )
        listing.highlighted = min(place or 0, len(turn.sections) - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._turn is not None:
            section = self._turn.sections[event.option_index]
            title = f"{section.name}, {section.tokens:,} tokens"
            self.app.push_screen(TextDialog(title, HIDDEN_TEXT if self._veiled else section.text))


def _budget(turn: Turn) -> Text:
    share = min(turn.tokens / turn.budget, 1.0) if turn.budget else 0.0
    full = round(share * BAR)
    return Text.assemble(
        f"{turn.tokens:,} of {turn.budget:,} tokens ",
        ("█" * full, "cyan"),
        ("·" * (BAR - full), "dim"),
    )


def _line(name: str, tokens: int, cached: int, whole: int) -> Text:
    """`█` was cached, `▒` had to be read."""
    cells = max(1, round(BAR * tokens / whole)) if whole else 0
    known = round(cells * cached / tokens) if tokens else 0
    mark = "cached" if cached >= tokens else "read" if not cached else "in part"
    return Text.assemble(
        f"{name:<{NAME}}{tokens:>6,}  ",
        ("█" * known, "green"),
        ("▒" * (cells - known), "yellow"),
        " " * (BAR - cells),
        (f"  {mark}", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
