"""The pane that shows the memories recalled for a turn, and why each was recalled."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.events import MemoryUsed
from assistant.language.calendar import relative_date
from ui.screen.memory.actions import MemoryActions
from ui.screen.talk.context_pane import TurnPane
from ui.screen.talk.conversation_pane import FORGOTTEN
from ui.screen.widgets.dialogs import TextDialog
from ui.screen.widgets.lists import Listing
from ui.screen.widgets.pane import OpenMemory
from ui.session.session import Session
from ui.session.state import ScreenState, Turn, chosen
from ui.text.memories import lines
from ui.text.terminal_safe import plain

NOT_OVER = "There is no answer to explain yet."
LINE = 100
"""Maximum number of cells of a line of the explanation."""
NONE = "No memories were recalled in this turn."
LATE = "These were found only by matching words: the encoder was too late."


class InjectedPane(TurnPane, MemoryActions):
    """Lists the memories in a turn's prompt, best first.

    Recalled memories that were left out of the prompt follow in grey.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open", id="memory.open")]
    BORDER_TITLE = "Injected memories"
    EMPTY = "The memories recalled for a turn appear here, with the reasons for each."

    def __init__(self, session: Session, now: Callable[[], datetime]) -> None:
        super().__init__(id="injected")
        self._now = now
        self.session = session
        self._turn: Turn | None = None

    def show(self, state: ScreenState) -> None:
        self._turn = turn = chosen(state, self.chosen_turn)
        hidden = state.hidden_memories
        if turn is None or not self.differs(turn.number, turn.recalled, len(turn.left_out), hidden):
            return
        self.border_title = f"Injected memories, turn {turn.number}"
        options = list(_options(turn, self._now(), hidden))
        note = NONE if not options else LATE if turn.missed else ""
        line = self.query_one(Static)
        line.update(note)
        line.display = bool(note)
        self.query_one(Listing).refill(options)

    def chosen(self) -> list[str]:
        here = self.query_one(Listing).here
        return [here] if here is not None else []

    def action_open(self) -> None:
        for key in self.chosen():
            self.post_message(OpenMemory(key))

    @work(exclusive=True, group="dialog")
    async def explain(self) -> None:
        """Show what the turn's answer was based on, and what was recalled for it."""
        turn = self._turn
        if turn is None or not turn.exchange:
            self.notify(NOT_OVER)
            return
        rows = await self.request(act="why", turn=turn.exchange)
        if rows:
            width = min(LINE, self.app.size.width * 9 // 10 - 4)  # inside the frame of a dialog
            text = "\n".join(lines(rows, width=width))
            await self.asked(TextDialog(f"Based on: turn {turn.number}", text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()


def _options(turn: Turn, now: datetime, hidden: Collection[str]) -> Iterator[Option]:
    for memory in turn.shown:
        if memory.id in hidden:
            yield Option(Text(FORGOTTEN, style="dim italic"), id=memory.id, disabled=True)
        else:
            yield Option(_line(memory, now), id=memory.id)
    for memory in turn.recalled:
        if memory.id in turn.left_out and memory.id not in hidden:
            yield Option(_missed(memory, turn.left_out[memory.id]), id=memory.id)


def _line(memory: MemoryUsed, now: datetime) -> Text:
    day = (relative_date(memory.said, now) or f"{memory.said:%Y-%m-%d}") if memory.said else ""
    parts = " ".join(f"{name} {value:+.2f}" for name, value in memory.parts if value)
    source = {"user": "you said", "assistant": "it said"}.get(memory.speaker, memory.speaker)
    about = [source if memory.kind == "exchange" else memory.kind, day]
    if memory.superseded_by:
        about.append("superseded")
    if memory.words:
        about.append(f"words: {', '.join(map(plain, memory.words))}")
    return Text.assemble(
        (f"{memory.score:.2f} ", "bold"),
        " ".join(plain(memory.text).split()),
        ("\n" + " · ".join(filter(None, about)), "dim"),
        (f"\n= {parts}" if parts else "", "dim"),
    )


def _missed(memory: MemoryUsed, reason: str) -> Text:
    text = " ".join(plain(memory.text).split())
    line = f"{memory.score:.2f} {text} — {reason}"
    return Text(line, style="dim italic", no_wrap=True, overflow="ellipsis")
