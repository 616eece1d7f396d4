"""The pane that shows the sections of a turn's prompt, and how many of their tokens were cached."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ui.screen.widgets.dialogs import TextDialog
from ui.screen.widgets.lists import Listing
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState, Turn, chosen

NO_PROMPT = "The assistant answered without the language model."
HIDDEN_TEXT = (
    "This turn's prompt is no longer shown, because it may quote what has been forgotten since."
)
NAME = 15
BAR = 10


class TurnPane(Pane):
    """Base class of panes with a list about one turn: the chosen turn or the newest."""

    DEFAULT_CSS = """
    TurnPane { border: round $primary; padding: 0 1; height: 1fr; }
    TurnPane:focus-within { border: round $accent; }
    TurnPane > Static { height: auto; color: $text-muted; }
    """
    EMPTY: ClassVar[str]
    chosen_turn: int | None = None
    """The number of the turn to show from the next drawing on; None for the newest turn."""

    def compose(self) -> ComposeResult:
        yield Static(self.EMPTY, markup=False)
        yield Listing()


class ContextPane(TurnPane):
    """Lists the sections of a turn's prompt. Selecting a section shows its text."""

    BORDER_TITLE = "Context"
    EMPTY = "The prompt of each turn appears here, with its tokens."

    def __init__(self) -> None:
        super().__init__(id="context")
        self._turn: Turn | None = None
        self._hidden = False
        """Whether the prompt may quote text that the user has deleted since the turn."""

    def show(self, state: ScreenState) -> None:
        turn = chosen(state, self.chosen_turn)
        if turn is None:
            return
        self._hidden = any(each.at >= turn.at for each in state.forgettings if not each.undone)
        read = turn.read_tokens
        if not turn.budget or not self.differs(turn.number, turn.sections, read):
            return
        self._turn = turn
        self.border_title = f"Context of turn {turn.number}"
        self.border_subtitle = f"{read:,} tokens newly read" if read is not None else ""
        self.query_one(Static).update(_budget(turn) if turn.sections else NO_PROMPT)
        cached = turn.cached() or (0,) * len(turn.sections)
        self.query_one(Listing).refill(
            Option(_line(section.name, section.tokens, known, turn.tokens))
            for section, known in zip(turn.sections, cached, strict=True)
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._turn is not None:
            section = self._turn.sections[event.option_index]
            title = f"{section.name}, {section.tokens:,} tokens"
            self.app.push_screen(TextDialog(title, HIDDEN_TEXT if self._hidden else section.text))


def _budget(turn: Turn) -> Text:
    share = min(turn.tokens / turn.budget, 1.0) if turn.budget else 0.0
    full = round(share * BAR)
    return Text.assemble(
        f"{turn.tokens:,} of {turn.budget:,} tokens ",
        ("█" * full, "cyan"),
        ("·" * (BAR - full), "dim"),
    )


def _line(name: str, tokens: int, cached: int, whole: int) -> Text:
    """Return a line about a section of the prompt, with a bar as long as its share of the prompt.

    In the bar, `█` stands for cached tokens and `▒` for tokens that the model had to read.
    """
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
