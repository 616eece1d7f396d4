"""The two lines above the tabs: the status of the assistant, and the newest warning or error."""

from collections.abc import Iterator

from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from assistant.events import Phase, Severity
from ui.process.console import runnable_hint
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.level_meter import CLOSED, meter
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState, ShownNotice

LEAST_WIDTH, LEAST_HEIGHT = 50, 14
"""Minimum size of the terminal in cells. On smaller terminals, the tabs aren't shown. The layout is
designed for 80×24 or larger."""
SIGNS = {
    Phase.STARTING: ("…", "starting", "dim"),
    Phase.LISTENING: ("●", "listening", "green"),
    Phase.HEARING: ("◉", "hearing you", "bold green"),
    Phase.THINKING: ("◌", "thinking", "yellow"),
    Phase.SPEAKING: ("▶", "speaking", "bold cyan"),
    Phase.ASLEEP: ("☾", "asleep", "blue"),
    Phase.MUTED: ("⊘", "muted", "red"),
    Phase.PAUSED: ("‖", "no sound", "red"),
    Phase.STOPPED: ("■", "stopped", "bold red"),
}


class StatusLine(Pane):
    """Shows the status of the assistant. A narrow terminal shows only the most important parts."""

    DEFAULT_CSS = "StatusLine { height: 1; background: $panel; color: $foreground; }"
    line: reactive[Text] = reactive(Text)

    def __init__(self, live: bool) -> None:
        super().__init__()
        self._live = live

    def show(self, state: ScreenState) -> None:
        self.line = self._line(state)

    def render(self) -> RenderResult:
        return self.line

    def _line(self, state: ScreenState) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        sign, word, style = SIGNS[state.phase]
        text.append(f" {sign} {word} ", style=f"{style} reverse")
        if not self._live:
            text.append(" replay ", style="bold reverse")
        if state.off_record:
            text.append(" off the record ", style="bold magenta reverse")
        if state.ringing:
            text.append(" ringing ", style="bold yellow reverse")
        if state.recording is not None:
            text.append(" recording ", style="bold red reverse")
        text.append(" ")
        if state.deaf:
            text.append("no mic", style="dim")
        else:
            text.append_text(meter(state.level_dbfs, closed=state.phase in CLOSED))
        for part in _details(state):
            if text.cell_len + len(part) + 3 > self.size.width:
                break
            text.append("  " + part, style="dim")
        return text


def _details(state: ScreenState) -> Iterator[str]:
    """Yield the details of the status line, the most important first."""
    if state.phase is Phase.STARTING:
        yield f"loading {', '.join(state.loading.values())}" if state.loading else "getting ready"
    if state.idle is not None:
        yield f"idle: {state.idle.kind} · {state.idle.waiting:,} waiting"
    turn = state.turn
    if state.undoable is not None:
        yield "u: undo forgetting"
    if turn is not None:
        yield f"turn {turn.number}"
        first = turn.latency.first_audio or turn.latency.first_token
        if first is not None:
            yield f"{first:.0f} ms"
        if turn.budget:
            yield f"context {turn.tokens:,}/{turn.budget:,}"
    if state.memories is not None:
        yield f"{state.memories:,} memories"
    elif state.models and state.phase is not Phase.STOPPED:
        yield "loading memories"
    if "llm" in state.models:
        yield state.models["llm"]
    if state.microphone is not None:
        yield state.microphone
    for role in ("stt", "tts"):
        if role in state.models:
            yield state.models[role]


class NoticeLine(Pane):
    """Shows the newest warning or error that the user has not dismissed, with advice.

    Hidden if there is none.
    """

    DEFAULT_CSS = "NoticeLine { height: auto; max-height: 3; padding: 0 1; display: none; }"
    trouble: reactive[ShownNotice | None] = reactive(None, layout=True)

    def show(self, state: ScreenState) -> None:
        self.trouble = state.trouble
        self.display = self.trouble is not None

    def render(self) -> RenderResult:
        if self.trouble is None:
            return ""
        notice = self.trouble.notice
        style = "bold red" if notice.severity is Severity.ERROR else "bold yellow"
        text = Text.assemble(("! ", style), notice.text)
        if notice.mend:
            text.append(f" → {runnable_hint(notice.mend)}", style="bold")
        text.append(f"  ({keys_of(self)['dismiss']} dismisses)", style="dim")
        return text


class TooSmall(Widget):
    """Shown instead of the tabs if the terminal is too small for them."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    TooSmall { display: none; height: 1fr; padding: 0 1; }
    .-low TooSmall, .-slim TooSmall { display: block; }
    .-low TabbedContent, .-slim TabbedContent { display: none; }
    """

    def render(self) -> RenderResult:
        width, height = self.app.size
        return f"This terminal is {width}×{height}; the screen needs 80×24."
