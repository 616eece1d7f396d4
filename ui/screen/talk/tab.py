"""The tab that shows the conversation and, beside it, the prompt, memories and latency of a
turn."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widgets import Input, Tab, Tabs

from ui.screen.talk.context_pane import ContextPane, TurnPane
from ui.screen.talk.conversation_pane import Conversation
from ui.screen.talk.recalled_pane import InjectedPane
from ui.screen.talk.waterfall import Waterfall
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.pane import reporting
from ui.session.session import Session

PARTS = {
    "conversation": "Talk",
    "context": "Context",
    "injected": "Memories",
    "waterfall": "Latency",
}

TYPING = "Type a turn; enter sends it, {key[dismiss]} leaves"


class TalkTab(Container):
    """Shows all panes at once, or one pane at a time on terminals with fewer than 100 columns."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    TalkTab { layout: horizontal; }
    TalkTab > #left { width: 3fr; }
    TalkTab > #right { width: 2fr; min-width: 44; }
    TalkTab #parts { display: none; }
    TalkTab #typed { display: none; height: 3; }
    TalkTab #typed.-open { display: block; }
    .-narrow TalkTab { layout: vertical; }
    .-narrow TalkTab #parts { display: block; height: 2; }
    .-narrow TalkTab > #left, .-narrow TalkTab > #right { width: 1fr; min-width: 0; }
    .-narrow TalkTab .-away { display: none; }
    .-narrow TalkTab #waterfall { height: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "explain", "Based on", id="turn.explain", show=False),
    ]

    def __init__(self, session: Session, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self._session = session

    def compose(self) -> ComposeResult:
        yield Tabs(*(Tab(label, id=f"part-{part}") for part, label in PARTS.items()), id="parts")
        with Vertical(id="left"):
            yield Conversation()
            yield Input(id="typed")
        with Vertical(id="right"):
            yield ContextPane()
            yield InjectedPane(self._session, self._now)
            yield Waterfall()

    def on_mount(self) -> None:
        self._choose("conversation")
        self.query_one("#entries").focus()

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        event.stop()
        self._choose((event.tab.id or "part-conversation").removeprefix("part-"))

    def _choose(self, part: str) -> None:
        """Choose the pane that is shown on a narrow terminal."""
        here = {part, "left" if part == "conversation" else "right"}
        for name in (*PARTS, "left", "right"):
            self.query_one(f"#{name}").set_class(name not in here, "-away")

    def type(self) -> None:
        """Open and focus the line in which the user types a turn."""
        self.query_one("#parts", Tabs).active = "part-conversation"
        line = self.query_one("#typed", Input)
        line.placeholder = TYPING.format(key=keys_of(line))
        line.add_class("-open")
        self.screen.set_focus(line)  # `focus` acts later; keys pressed until then would be lost

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        with reporting(self):
            if text:
                self._session.say(text)
            event.input.clear()

    def on_input_blurred(self, event: Input.Blurred) -> None:
        if not event.value:
            event.input.remove_class("-open")

    def action_explain(self) -> None:
        """Show what the answer of the chosen turn was based on."""
        self.query_one(InjectedPane).explain()

    def open_turn(self, turn: int) -> None:
        """Scroll to a turn of this conversation, and show its prompt and memories."""
        self.query_one(Conversation).open(turn)
        for pane in self.query(TurnPane):
            pane.chosen_turn = turn
