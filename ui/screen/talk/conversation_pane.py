"""The pane that shows the conversation: the user's words as they are recognised, and the answers as
they are spoken."""

from itertools import pairwise
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from ui.screen.widgets.keys import keys_of, when_keys_change
from ui.screen.widgets.pane import Pane
from ui.session.state import ConversationLine, Entry, ScreenState, Turn

FORGOTTEN = "· forgotten"
REDRAWN = 8
"""Number of newest entries that are checked for changes. Older entries don't change."""
MOST = 200
"""Maximum number of entries in the pane. Older turns remain in the transcript."""
EMPTY = (
    "Nothing has been said yet.\n\n"
    "Speak, or press {key[voice.type]} and type. What is heard appears here while you talk,\n"
    "and the answer as it is spoken."
)


class EntryView(Static):
    """Shows one turn, or one line between turns."""

    DEFAULT_CSS = """
    EntryView { height: auto; margin-bottom: 1; }
    EntryView.-answered { margin-bottom: 0; }
    """

    def __init__(self, entry: Entry, name: str) -> None:
        super().__init__(markup=False)
        self.entry = entry
        self._assistant = name

    def draw(self, state: ScreenState) -> None:
        """Redraw the entry if its text has changed. A hidden turn is shown as a mark; a
        hidden line is not shown at all."""
        hidden = state.hides(self.entry)
        text = _text(self.entry, self._assistant)
        if hidden:
            text = Text(FORGOTTEN, style="dim italic")
        if text != self.content:
            self.update(text)
        if isinstance(self.entry, ConversationLine) and self.display == hidden:
            self.display = not hidden


class Entries(VerticalScroll):
    """Contains the entries, and scrolls to new ones unless the user has scrolled up."""

    def on_mount(self) -> None:
        self.anchor()

    @property
    def follows(self) -> bool:
        return not self._anchor_released


class Conversation(Pane):
    """Shows the conversation and scrolls to its end as it grows.

    If the user has scrolled up, the pane stays there and shows the number of new entries.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll(1)", "Down", show=False, id="list.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="list.up"),
        Binding("g,home", "top", "Top", show=False, id="list.top"),
        Binding("G,end", "bottom", "Newest", show=False, id="list.bottom"),
    ]
    DEFAULT_CSS = """
    Conversation { border: round $primary; padding: 0 1; height: 1fr; }
    Conversation:focus-within { border: round $accent; }
    Conversation > #partial { height: auto; dock: bottom; color: $text-muted; }
    Conversation > #empty { color: $text-muted; }
    """
    BORDER_TITLE = "Conversation"

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.assistant = ""
        """The name of the assistant in new entries."""
        self._views: list[EntryView] = []
        self._shown = 0
        """The number of entries shown so far, including entries removed from the pane."""
        self._hidden: tuple[frozenset[str], int] = (frozenset(), 0)
        """`hidden_exchanges` and `hidden_lines` of the state drawn last."""
        self._seen = 0
        """The number of entries when the pane was last scrolled to its end."""

    def compose(self) -> ComposeResult:
        yield Static(id="empty", markup=False)
        yield Entries(id="entries")
        yield Static("", id="partial", markup=False)

    def on_mount(self) -> None:
        when_keys_change(self, self._name_keys)

    def _name_keys(self) -> None:
        self.query_one("#empty", Static).update(EMPTY.format(key=keys_of(self)))

    @property
    def _scroll(self) -> Entries:
        return self.query_one("#entries", Entries)

    def show(self, state: ScreenState) -> None:
        fresh = min(state.begun - self._shown, len(state.entries))
        if fresh:
            self.query_one("#empty").display = False
            newest = list(state.entries)[-fresh:]
            views = [EntryView(entry, self.assistant) for entry in newest]
            self._shown = state.begun
            for before, after in pairwise([*self._views[-1:], *views]):
                before.set_class(_answers(before.entry, after.entry), "-answered")
            self._views += views
            self._scroll.mount_all(views)
            for view in self._views[:-MOST]:
                view.remove()
            self._views = self._views[-MOST:]
        hidden = state.hidden_exchanges, state.hidden_lines
        changed = self._views if hidden != self._hidden else self._views[-max(fresh, REDRAWN) :]
        self._hidden = hidden
        # Each update of a widget computes its layout again, so only changed texts are updated.
        for view in changed:
            view.draw(state)
        partial = f"you …  {state.partial}" if state.partial else ""
        line = self.query_one("#partial", Static)
        if partial != line.content:
            line.update(partial)
        if self._scroll.follows:
            self._seen = self._shown
        new = self._shown - self._seen
        subtitle = f"+{new} new ({keys_of(self)['list.bottom']} shows them)" if new else ""
        if subtitle != self.border_subtitle:
            self.border_subtitle = subtitle

    def open(self, number: int) -> None:
        """Scroll to the turn with this number, if the pane contains it."""
        for view in self._views:
            if isinstance(view.entry, Turn) and view.entry.number == number:
                self._scroll.scroll_to_widget(view, animate=False, top=True)

    def action_scroll(self, lines: int) -> None:
        self._scroll.scroll_relative(y=lines, animate=False)

    def action_top(self) -> None:
        self._scroll.scroll_home(animate=False)

    def action_bottom(self) -> None:
        self._scroll.scroll_end(animate=False)
        self._seen = self._shown
        self.border_subtitle = ""


def _answers(before: Entry, after: Entry) -> bool:
    """Whether the second entry is the reply to the command in the first."""
    kinds = [each.kind for each in (before, after) if isinstance(each, ConversationLine)]
    return kinds == ["command", "remark"]


def _text(entry: Entry, name: str) -> Text:
    if not isinstance(entry, Turn):
        if entry.kind == "command":
            return Text.assemble(("you  ", "bold green"), entry.text)
        if entry.kind == "remark":
            return Text.assemble((f"{name}  ", "bold cyan"), entry.text)
        sign = "~" if entry.kind == "ignored" else "·"
        return Text(f"{sign} {entry.text}", style="dim italic")
    text = Text.assemble(("you  ", "bold green"), entry.user, "\n", (f"{name}  ", "bold cyan"))
    text.append(entry.heard)
    if entry.unheard:
        text.append(entry.unheard, style="dim strike" if entry.over else "dim")
    elif not entry.heard and not entry.over:
        text.append("…", style="dim")
    if entry.interrupted:
        text.append(" ⟂ interrupted", style="yellow")
    elif entry.over and not entry.heard and not entry.unheard:
        text.append("(nothing was said)", style="dim")
    return text
