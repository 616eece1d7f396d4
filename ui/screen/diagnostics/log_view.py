"""The widget that shows the wrapped lines of a log, newest last."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.cells import chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ui.screen.diagnostics.log_tail import LogLine

MOST, SLACK = 3000, 500
"""If there are more than MOST + SLACK lines, the oldest are dropped, so that MOST lines remain."""
LEVEL = 9
LAST_WORD = 18
"""A row is broken at a space, if there is one among its last LAST_WORD characters; otherwise, its
last word is cut."""
STYLES = {
    "DEBUG": Style(dim=True),
    "INFO": Style(),
    "WARNING": Style(color="yellow", bold=True),
    "ERROR": Style(color="red", bold=True),
    "CRITICAL": Style(color="red", bold=True, reverse=True),
}
TIME = Style(dim=True)
Shown = Callable[[LogLine], bool]


class LogView(ScrollView, can_focus=True):
    """Shows lines of a log, and scrolls to new lines until the user scrolls up.

    All lines are wrapped in advance, but only visible rows are drawn.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", show=False, id="list.down"),
        Binding("k,up", "scroll_up", show=False, id="list.up"),
        Binding("pageup", "page_up", show=False, id="list.page_up"),
        Binding("pagedown", "page_down", show=False, id="list.page_down"),
        Binding("g,home", "scroll_home", show=False, id="list.top"),
        Binding("G,end", "end", "Go to the end", id="list.bottom"),
    ]
    DEFAULT_CSS = """
    LogView { height: 1fr; padding: 0 1; overflow-x: hidden; scrollbar-gutter: stable; }
    """

    unread = reactive(0)
    """Number of lines added since the user scrolled away from the end."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[LogLine] = []
        self._strips: list[list[Segment]] = []
        self._wanted: Shown = lambda _line: True
        self._following = True

    @property
    def empty(self) -> bool:
        return not self._strips

    @property
    def held(self) -> int:
        """The number of lines in memory, including lines hidden by the filter."""
        return len(self._lines)

    def add(self, lines: Iterable[LogLine]) -> None:
        new = list(lines)
        if not new:
            return
        self._lines += new
        shown = [line for line in new if self._wanted(line)]
        if not self._following:
            self.unread += len(shown)
        for line in shown:
            self._strips += self._wrapped(line)
        if len(self._lines) > MOST + SLACK:
            self._shorten()
        else:
            self._grown()

    def clear(self) -> None:
        self._lines.clear()
        self._wrap_all()
        self.action_end()

    def only(self, wanted: Shown) -> None:
        """Show only the lines for which `wanted` returns true, and scroll to the newest of them."""
        self._wanted = wanted
        self._wrap_all()
        self.action_end()

    def action_end(self) -> None:
        """Scroll to the newest line, and from now on to each new line."""
        self._following, self.unread = True, 0
        self.scroll_end(animate=False, force=True, immediate=True)

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y
        if new < old and not at_end:
            self._following = False
        elif at_end:
            self._following, self.unread = True, 0

    def on_resize(self) -> None:
        self._wrap_all()

    def render_line(self, y: int) -> Strip:
        place = int(self.scroll_y) + y
        width = self.size.width
        if place >= len(self._strips):
            return Strip.blank(width, self.rich_style)
        return Strip(self._strips[place]).apply_style(self.rich_style).adjust_cell_length(width)

    # -- inside ---------------------------------------------------------------------------------

    def _shorten(self) -> None:
        """Drop the oldest lines without moving the lines on the screen."""
        place, before = self.scroll_y, len(self._strips)
        del self._lines[:-MOST]
        self._wrap_all()
        if not self._following:
            gone = before - len(self._strips)
            self.scroll_to(y=max(place - gone, 0), animate=False, immediate=True)

    def _wrap_all(self) -> None:
        following, before = self._following, len(self._strips)
        self._strips = []
        for line in self._lines:
            if self._wanted(line):
                self._strips += self._wrapped(line)
        self._grown()
        if not following and len(self._strips) < before:
            self.scroll_to(y=min(self.scroll_y, self.max_scroll_y), animate=False)

    def _grown(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._strips))
        if self._following:
            self.scroll_end(animate=False, force=True, immediate=True)
        self.refresh()

    def _wrapped(self, line: LogLine) -> list[list[Segment]]:
        """Wrap one line of the log into rows. The first row begins with the time and the level."""
        head: list[Segment] = []
        if line.at:
            word = Segment(f"{line.level:<{LEVEL}}", STYLES.get(line.level))
            head = [Segment(f"{line.at} ", TIME), word]
        name = f"{line.logger}: " if line.logger else ""
        body = name + line.text
        indent = sum(segment.cell_length for segment in head) or (2 if line.level else 0)
        width = max(self.scrollable_content_region.width - indent, 20)
        rows = []
        for number, part in enumerate(_wrap(body, width)):
            lead = head if head and not number else [Segment(" " * indent)]
            text = [Segment(part)]
            if not number and name and len(part) > len(name):
                text = [Segment(name, TIME), Segment(part[len(name) :])]
            rows.append([*lead, *text])
        return rows


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a text into rows of `width` cells, broken at a space near the end of a row if possible.

    Fast for ASCII, because thousands of lines must be wrapped in one frame. Other texts take a
    slower path and are never broken at spaces.
    """
    if not text.isascii():
        return chop_cells(text, width)
    rows = []
    while len(text) > width:
        cut = text.rfind(" ", width - LAST_WORD, width) + 1 or width
        rows.append(text[:cut])
        text = text[cut:]
    return [*rows, text]
