"""How the time from the end of speech to the first sound of the answer was spent in a turn."""

from collections.abc import Iterator

from rich.text import Text
from textual.app import RenderResult

from assistant.events import Latency
from ui.screen.widgets.pane import Pane
from ui.session.state import STEPS, ScreenState, Turn, percentile

LABELS = {
    "turn_decided": ("end of turn", "blue", "E"),
    "transcript": ("words", "green", "W"),
    "recall": ("recall", "magenta", "R"),
    "first_token": ("first token", "yellow", "T"),
    "first_audio": ("first sound", "cyan", "S"),
}
"""Each step's label, colour, and letter, which distinguishes it without colours."""
LABEL = 12
FIGURES = 9


def reached(latency: Latency) -> list[tuple[str, float]]:
    """The steps of a turn with their times, in order."""
    times = [(name, getattr(latency, name)) for name in STEPS]
    return sorted(
        ((n, max(ms, 0.0)) for n, ms in times if ms is not None), key=lambda each: each[1]
    )


def first_sound(turn: Turn) -> float | None:
    """Milliseconds until the answer began: its sound, or its text if nothing is spoken."""
    latency = turn.latency
    return latency.first_audio if latency.first_audio is not None else latency.first_token


class Waterfall(Pane):
    """Each step's bar begins where the previous one ended."""

    DEFAULT_CSS = "Waterfall { border: round $primary; padding: 0 1; height: 8; }"
    BORDER_TITLE = "Latency"

    def __init__(self) -> None:
        super().__init__(id="waterfall")
        self._turn: Turn | None = None

    def show(self, state: ScreenState) -> None:
        over = [turn for turn in state.turns if turn.over]
        firsts = [ms for turn in over if (ms := first_sound(turn)) is not None]
        if not over or not self.differs(over[-1].number, len(firsts)):
            return
        self._turn = over[-1]
        self.border_title = f"Latency of turn {self._turn.number}"
        middle, slow = percentile(firsts, 0.5), percentile(firsts, 0.95)
        if middle is not None and slow is not None:
            self.border_subtitle = f"session p50 {middle:.0f} ms · p95 {slow:.0f} ms"
        self.refresh()

    def render(self) -> RenderResult:
        if self._turn is None:
            return Text("This pane shows how the time of each turn was spent.", style="dim")
        lines = list(bars(self._turn.latency, self.content_size.width - LABEL - FIGURES))
        return Text("\n").join(lines) if lines else Text("This turn had no steps.", style="dim")


def bars(latency: Latency, cells: int) -> Iterator[Text]:
    """One line per step."""
    steps = reached(latency)
    whole = max((ms for _, ms in steps), default=0.0)
    before = 0.0
    for name, ms in steps:
        label, style, _ = LABELS[name]
        start, end = (round(cells * t / whole) if whole else 0 for t in (before, ms))
        bar = "█" * (end - start) or "▏"
        yield Text.assemble(
            f"{label:<{LABEL}}", " " * start, (bar, style), (f" {ms:.0f} ms", "dim"), no_wrap=True
        )
        before = ms
