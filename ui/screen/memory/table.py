"""A table of any length that holds only the rows near the visible ones.

The table requests other rows when they become visible.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from assistant.ipc import Row
from ui.screen.memory.columns import Layout, Styles

PAGE = 100
"""Number of rows per page. Each request loads one page."""
MOST_PAGES = 20
"""Maximum number of pages in memory. If there are more, the page farthest from the visible rows is
dropped."""
MARKS = 3
"""Width, in cells, of the area at the left edge of a row where a click selects the row."""


class MemoryList(ScrollView, can_focus=True):
    """Shows one line per memory below a heading.

    Args:
        now: returns the current local time, from which relative days are computed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, id="table.down"),
        Binding("up,k", "move(-1)", "Up", show=False, id="table.up"),
        Binding("pagedown", "leaf(1)", "Page down", show=False, id="table.page_down"),
        Binding("pageup", "leaf(-1)", "Page up", show=False, id="table.page_up"),
        Binding("home,g", "first", "Go to the first row", show=False, id="table.top"),
        Binding("end,G", "last", "Go to the last row", show=False, id="table.bottom"),
        Binding("enter", "open", "Open", id="table.open"),
        Binding("space", "choose", "Select", id="table.choose"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "memories--head",
        "memories--dim",
        "memories--here",
        "memories--here-dim",
        "memories--chosen",
    }
    DEFAULT_CSS = """
    MemoryList {
        height: 1fr; overflow-x: hidden; overflow-y: auto; background: transparent;
        scrollbar-size-vertical: 1;
    }
    MemoryList > .memories--head { text-style: dim underline; }
    MemoryList > .memories--dim { text-style: dim; }
    MemoryList > .memories--here { background: $primary 30%; }
    MemoryList > .memories--here-dim { background: $primary 30%; text-style: dim; }
    MemoryList:focus > .memories--here { background: $primary 60%; text-style: bold; }
    MemoryList:focus > .memories--here-dim { background: $primary 60%; }
    MemoryList > .memories--chosen { color: $text-accent; }
    """

    class Moved(Message):
        """Sent when the cursor has moved, the row under the cursor has been loaded, or the
        selection has changed."""

    class Opened(Message):
        """Sent when the user opens the row under the cursor."""

    class Needs(Message):
        """Sent when visible rows are not loaded: see `MemoryList.needed`."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id="memories")
        self._now = now
        self._pages: dict[int, Sequence[Row]] = {}
        self._empty = ""
        self._scored = False
        self._asked = False
        self.total = 0
        self.cursor = 0
        self.selection: set[str] = set()
        """The ids of the selected memories."""

    # -- contents ---------------------------------------------------------------------------------

    def put(
        self,
        total: int,
        pages: Mapping[int, Sequence[Row]],
        cursor: int,
        *,
        scored: bool = False,
        empty: str = "",
    ) -> None:
        """Replace the rows and scroll so that the cursor stays on the same line of the screen.

        Args:
            total: number of rows, loaded or not.
            pages: the loaded rows by page number, `PAGE` rows per page.
            cursor: index of the row to put the cursor on.
            empty: text to show if there are no rows.
        """
        line = self.cursor - self.scroll_offset.y
        self._pages, self.total, self._scored, self._empty = dict(pages), total, scored, empty
        self.cursor = max(0, min(cursor, total - 1))
        self.virtual_size = Size(0, total + 1)
        in_sight = 0 <= line < max(self._room, 1)
        top = self.cursor - line if in_sight else self.scroll_offset.y
        self.scroll_to(y=max(0, min(top, self._highest)), animate=False)
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def fill(self, page: int, rows: Sequence[Row]) -> None:
        """Add the rows of a page that was missing."""
        self._pages[page] = rows
        if len(self._pages) > MOST_PAGES:
            far = max(self._pages, key=lambda each: abs(each * PAGE - self.scroll_offset.y))
            del self._pages[far]
        self.refresh()
        if page == self.cursor // PAGE:
            self.post_message(self.Moved())

    def needed(self) -> int | None:
        """Return the number of the first missing page that is visible or contains the cursor."""
        pages = self.in_sight(self.scroll_offset.y, self.total)
        if self.total:
            pages = [*pages, self.cursor // PAGE]
        return next((page for page in pages if page not in self._pages), None)

    def in_sight(self, top: int, total: int) -> list[int]:
        """Return the numbers of the pages on screen if `top` is the first visible row.

        Args:
            total: number of rows in the table.
        """
        last = min(top + max(self._room, 1), total) - 1
        return list(range(max(top, 0) // PAGE, last // PAGE + 1)) if total and last >= 0 else []

    def top_for(self, cursor: int) -> int:
        """Return the row that would be at the top if `put` moved the cursor to the row `cursor`."""
        line = self.cursor - self.scroll_offset.y
        return max(0, cursor - line) if 0 <= line < max(self._room, 1) else self.scroll_offset.y

    def answered(self) -> None:
        """Allow `Needs` to be sent again. Call this once the pages are loaded or one has failed."""
        self._asked = False
        self.refresh()

    def row(self, index: int) -> Row | None:
        rows = self._pages.get(index // PAGE, ())
        place = index % PAGE
        return rows[place] if place < len(rows) else None

    @property
    def here(self) -> Row | None:
        """The row under the cursor; None if it isn't loaded or there are no rows."""
        return self.row(self.cursor) if self.total else None

    def choose(self, ids: Iterable[str]) -> None:
        """Select the memories with these ids, and deselect all others."""
        self.selection = set(ids)
        self.refresh()
        self.post_message(self.Moved())

    # -- drawing --------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        """The number of rows that fit on the screen."""
        return self.size.height - 1

    @property
    def _columns(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _highest(self) -> int:
        return max(0, self.total - self._room)

    def render_line(self, y: int) -> Strip:
        width = self._columns
        layout = Layout(width, self._scored)
        if not self.total:
            return self._told(y, width)
        if y == 0:
            head = self.get_component_rich_style("memories--head")
            return Strip(layout.head(Styles(head, head, head)), width)
        index = self.scroll_offset.y + y - 1
        if index >= self.total:
            return Strip.blank(width, self.rich_style)
        row, here = self.row(index), index == self.cursor
        if row is None and not self._asked:
            self._asked = True
            self.call_later(self._need)
        chosen = row is not None and row["id"] in self.selection
        line = layout.line(row, self._styles(here, chosen), self._now(), here=here, chosen=chosen)
        return Strip(line, width)

    def _need(self) -> None:
        """Send `Needs`. Called after drawing, because messages sent while drawing are lost."""
        self.post_message(self.Needs())

    def _styles(self, here: bool, chosen: bool) -> Styles:
        style = self.get_component_rich_style
        if here:
            line, dim = style("memories--here"), style("memories--here-dim")
        else:
            line, dim = self.rich_style, style("memories--dim")
        if chosen:
            line += Style(color=style("memories--chosen").color)
        return Styles(line, dim, line + Style(bold=True))

    def _told(self, y: int, width: int) -> Strip:
        """Return line `y` of the text that is shown if there are no rows."""
        text = Text(self._empty, style=self.get_component_rich_style("memories--dim"))
        lines = text.wrap(self.app.console, max(width - 2, 1))
        if not 1 <= y <= len(lines):
            return Strip.blank(width, self.rich_style)
        return Strip(lines[y - 1].render(self.app.console)).adjust_cell_length(
            width, self.rich_style
        )

    # -- moving ---------------------------------------------------------------------------------

    def go(self, index: int) -> None:
        """Put the cursor on the row with this index, or on the nearest existing row."""
        if not self.total:
            return
        before, self.cursor = self.cursor, max(0, min(index, self.total - 1))
        self._show_cursor()
        for each in {before, self.cursor}:
            self.refresh(Region(0, each - self.scroll_offset.y + 1, self._columns, 1))
        if before != self.cursor:
            self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        top, room = self.scroll_offset.y, max(self._room, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1, animate=False)

    def on_resize(self) -> None:
        self._show_cursor()

    def action_move(self, rows: int) -> None:
        self.go(self.cursor + rows)

    def action_leaf(self, pages: int) -> None:
        self.go(self.cursor + pages * max(self._room - 1, 1))

    def action_first(self) -> None:
        self.go(0)

    def action_last(self) -> None:
        self.go(self.total - 1)

    def action_open(self) -> None:
        if self.here is not None:
            self.post_message(self.Opened())

    def action_choose(self) -> None:
        """Select or deselect the row under the cursor, and move the cursor to the next row."""
        row = self.here
        if row is not None:
            self.choose(self.selection ^ {row["id"]})
            self.go(self.cursor + 1)

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is None or place.y < 1:
            return
        index = self.scroll_offset.y + place.y - 1
        if index >= self.total:
            return
        self.go(index)
        row = self.here
        if row is not None and (event.ctrl or place.x < MARKS):
            self.choose(self.selection ^ {row["id"]})
        elif event.chain == 2:
            self.action_open()
