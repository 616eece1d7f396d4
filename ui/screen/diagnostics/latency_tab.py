"""The tab that shows the latency of every turn in the session, and percentiles of all turns."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.cells import set_cell_size
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.events import Latency
from ui.screen.talk.waterfall import LABELS, first_sound, reached
from ui.screen.widgets.lists import Rows
from ui.screen.widgets.pane import OpenTurn, Pane
from ui.session.state import STEPS, ScreenState, Turn, percentile
from ui.text.terminal_safe import plain

EMPTY = (
    "When a turn is over, it gets a bar here: how long it took from the end of your speech\n"
    "to the first sound of the answer, and how that time was spent."
)
NUMBER, SUM, LATE, TOKENS, SPEED = 5, 10, 13, 12, 10
FIGURES = NUMBER + SUM + LATE + TOKENS + SPEED
WIDEST_BAR = 80
LEAST_BAR = 12
ROOM_FOR_WORDS = 20
BEYOND = 1.5
"""Multiple of the session's p95 at which bars are cut off. Otherwise, one slow turn would make the
bars of all other turns tiny."""


class Turns(Rows):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open turn", id="latency.open")
    ]
    BORDER_TITLE = "Turns: " + " · ".join(
        f"{letter} {label}" for label, _, letter in LABELS.values()
    )


class LatencyTab(Pane):
    """Shows a table of percentiles and, below the table, one bar per turn, newest last."""

    DEFAULT_CSS = """
    LatencyTab { layout: vertical; }
    LatencyTab > #usual { height: auto; padding: 0 1; }
    LatencyTab > Turns { border: round $primary; }
    LatencyTab > Turns:focus { border: round $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._over: list[Turn] = []

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="usual", markup=False)
        yield Turns()

    def show(self, state: ScreenState) -> None:
        over = [turn for turn in state.turns if turn.over]
        if not over or not self.differs(len(over), over[-1].number, self.size.width):
            return
        self.query_one("#usual", Static).update(usual(over))
        self._list(over)

    def _list(self, over: list[Turn]) -> None:
        """List the turns. A cursor on the last row moves to the new last row; otherwise, the
        cursor stays on its turn."""
        turns = self.query_one(Turns)
        place = turns.highlighted
        chosen = self._over[place] if place is not None and place < len(self._over) else None
        following = chosen is None or chosen is self._over[-1] or chosen not in over
        self._over = over
        # Subtract the border, the padding and the scrollbar. The scrollbar may not be visible yet.
        cells = max(self.size.width - 6, FIGURES + LEAST_BAR)
        whole = scale(over)
        turns.clear_options()
        turns.add_options(Option(row(turn, whole, cells)) for turn in over)
        turns.highlighted = len(over) - 1 if chosen is None or following else over.index(chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(OpenTurn(self._over[event.option_index].number))


def scale(turns: Sequence[Turn]) -> float:
    """Return the number of milliseconds that a bar of full length stands for."""
    ends = [steps[-1][1] for turn in turns if (steps := reached(turn.latency))]
    slow = percentile(ends, 0.95)
    return min(max(ends), BEYOND * slow) if slow is not None else 0.0


def row(turn: Turn, whole: float, cells: int) -> Text:
    """Return a turn's line: bar, latency, problems with recall, tokens read, tokens per second.

    Args:
        whole: number of milliseconds of a full-length bar.
        cells: width of the line.
    """
    room = min(cells - FIGURES, WIDEST_BAR)
    text = Text.assemble((f"{turn.number:>{NUMBER - 1}} ", "bold"), no_wrap=True)
    text.append_text(bar(turn.latency, whole, room))
    first = first_sound(turn)
    text.append(f"{first:,.0f} ms".rjust(SUM) if first is not None else " " * SUM)
    if turn.missed:
        text.append("  recall late".ljust(LATE), style="bold red")
    else:
        late = "  shortened" if turn.brief else " fast encoder" if turn.stand_in else ""
        text.append(late.ljust(LATE), style="yellow")
    read = f"{turn.read_tokens:,} read" if turn.read_tokens is not None else ""
    speed = f"{turn.tokens_per_s:.1f}/s" if turn.tokens_per_s is not None else ""
    text.append(f"{read:>{TOKENS}}{speed:>{SPEED}}", style="dim")
    words = cells - FIGURES - room - 2
    if words >= ROOM_FOR_WORDS:
        text.append("  " + set_cell_size(" ".join(plain(turn.user).split()), words).rstrip())
    return text


def bar(latency: Latency, whole: float, cells: int) -> Text:
    """Draw a turn's steps one after the other, each with its letter, on a bar of `cells` cells.

    A bar of full length stands for `whole` milliseconds. Longer turns are cut off and end with `»`.
    """
    text = Text()
    ended, before = 0, 0.0
    for name, ms in reached(latency):
        _, colour, letter = LABELS[name]
        end = min(round(cells * ms / whole) if whole else 0, cells)
        # A step that is too short for a cell appears only in the table of percentiles.
        if end > ended:
            text.append(letter.ljust(end - ended, "▬"), style=f"black on {colour}")
            ended = end
        before = ms
    if before > whole and text:
        text.right_crop(1)
        text.append("»", style="bold reverse")
    text.append(" " * (cells - len(text)))
    return text


def usual(turns: Sequence[Turn]) -> Text:
    """Return a table with the p50 and p95 of each step, and a line of other statistics.

    The percentiles are given for the step alone, and for the time since the end of speech.
    """
    lines = [Text(f"{'':<18}{'step alone':^20}{'since the end of speech':^26}", style="dim")]
    lines.append(Text(f"{'':<18}{'p50':>9}{'p95':>11}{'p50':>13}{'p95':>12}", style="dim"))
    lines += _steps(turns)
    missed = sum(turn.missed for turn in turns)
    parts = [f"recall: late in {missed} of {len(turns)} turns"]
    if stand_ins := sum(turn.stand_in for turn in turns):
        parts[0] += f", just the fast encoder in {stand_ins}"
    if briefs := sum(turn.brief for turn in turns):
        parts[0] += f", shortened in {briefs}"
    read = percentile([t.read_tokens for t in turns if t.read_tokens is not None], 0.5)
    if read is not None:
        parts.append(f"{read:,.0f} tokens read (p50)")
    speed = percentile([t.tokens_per_s for t in turns if t.tokens_per_s is not None], 0.5)
    if speed is not None:
        parts.append(f"{speed:.1f} tokens/s (p50)")
    lines.append(Text(" · ".join(parts), style="bold" if missed else ""))
    return Text("\n").join(lines)


def _steps(turns: Sequence[Turn]) -> Iterator[Text]:
    own: dict[str, list[float]] = {name: [] for name in STEPS}
    since: dict[str, list[float]] = {name: [] for name in STEPS}
    for turn in turns:
        before = 0.0
        for name, ms in reached(turn.latency):
            own[name].append(ms - before)
            since[name].append(ms)
            before = ms
    for name in STEPS:
        if not own[name]:
            continue
        label, colour, letter = LABELS[name]
        figures = [percentile(times, p) for times in (own[name], since[name]) for p in (0.5, 0.95)]
        shown = [f"{ms:,.0f} ms" for ms in figures if ms is not None]
        yield Text.assemble(
            (f" {letter} ", f"black on {colour}"),
            f" {label:<14}{shown[0]:>9}{shown[1]:>11}{shown[2]:>13}{shown[3]:>12}",
        )
