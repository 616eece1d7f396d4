"""The tab in which the user searches, views, changes and forgets memories."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Input, Static

from assistant.errors import AssistantError
from assistant.ipc import Row
from ui.screen.memory.detail import MemoryDetail, of_this_conversation
from ui.screen.memory.filters import FilterDialog, Filters
from ui.screen.memory.forgetting import countdown
from ui.screen.memory.keys import MemoryKeys
from ui.screen.memory.source import Source
from ui.screen.memory.table import MemoryList
from ui.screen.widgets.keys import keys_of, when_keys_change
from ui.screen.widgets.pane import Pane, in_sight, reporting
from ui.session.session import Session
from ui.session.state import ScreenState
from ui.text.forgetting import memories

EMPTY = (
    "Memories appear here: what you and the assistant said, and what was derived from that. Start"
    " talking, or press the key {key[memory.add]} to write something down."
)
NOT_LIVE = "A recorded conversation has no memories to browse."
NONE = "No memory matches. {key[memory.back]} shows all memories again."
LOOK_S = 2.0
"""Seconds between two checks of whether memories have changed."""
WORDS = "{key[find]} searches as recall does; {key[memory.way]}: plain text"
LETTERS = "{key[find]} searches plain text; {key[memory.way]}: as recall does"


class SearchLine(Input):
    """The search line. The table is updated while the user types."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "submit", "Go to the table", show=False, id="memory.to_table")
    ]


class MemoryTab(Pane, MemoryKeys):
    """Shows a table of memories and the details of the memory under the cursor.

    Terminals with fewer than 100 columns show either the table or the details.

    Args:
        now: returns the current local time, from which ages are computed.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    MemoryTab { height: 1fr; layout: vertical; }
    MemoryTab > #search { height: 1; }
    MemoryTab > #about { height: 1; color: $text-muted; padding: 0 1; }
    MemoryTab > #countdown { height: 1; display: none; padding: 0 1; color: $text-warning; }
    MemoryTab > Horizontal { height: 1fr; }
    MemoryTab #memories { width: 3fr; }
    MemoryTab #detail { width: 2fr; min-width: 40; }
    .-narrow MemoryTab #detail { display: none; }
    .-narrow MemoryTab.-open #detail { display: block; width: 1fr; }
    .-narrow MemoryTab.-open #memories { display: none; }
    """
    soon_s = 0.12
    """Seconds to wait for another key press or cursor move before a request is sent."""

    def __init__(self, session: Session, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.session = session
        self.source = Source(session, now)
        self.now = now
        self.state = ScreenState()
        self._loaded = False
        self._around: str | None = None
        """Id of the memory that the cursor will be on once the rows are loaded."""
        self._pending: list[Row] = []
        self._soon: dict[str, Timer] = {}

    def compose(self) -> ComposeResult:
        yield SearchLine(compact=True, id="search")
        yield Static(id="about", markup=False)
        yield Static(id="countdown", markup=False)
        with Horizontal():
            yield MemoryList(self.now)
            yield MemoryDetail(self.now)

    def on_mount(self) -> None:
        self.table = self.query_one(MemoryList)
        self.detail = self.query_one(MemoryDetail)
        when_keys_change(self, self._name_keys)
        self.set_interval(1.0, self._count_down)
        self.set_interval(LOOK_S, self._look)

    # -- called by the app ----------------------------------------------------------------------

    def show(self, state: ScreenState) -> None:
        self.state = state
        done = [(each.id, each.undone, each.receipt is not None) for each in state.forgettings]
        news = self.differs(sum(turn.over for turn in state.turns), state.memories, done)
        if not self._loaded:
            self.load()
        elif news:
            self._later("look", self._look)

    def find(self) -> None:
        """Focus the search line, and select its text."""
        line = self.query_one(SearchLine)
        self.screen.set_focus(line)  # `focus` acts later; keys pressed until then would be lost
        line.action_select_all()

    def open(self, memory: str) -> None:
        """Show all details of one memory."""
        self.source.filters = Filters()
        self._search_for("")
        self.add_class("-open")
        self.load(memory)
        self.call_after_refresh(self._focus)

    # -- reading --------------------------------------------------------------------------------

    def load(self, around: str | None = None, *, anew: bool = False) -> None:
        """Load and show the rows that match the search. A new call cancels the previous call.

        Args:
            around: id of the memory to put the cursor on. Default: the cursor stays on its memory.
            anew: whether to put the cursor on the first row.
        """
        if self.session.live:
            # The id is reset only when the rows are drawn. If a check for changes starts another
            # load before that, the cursor must still move to this memory.
            self._around = None if anew else around or self._around
            self._load(anew)

    @work(exclusive=True, group="list")
    async def _load(self, anew: bool) -> None:
        table = self.table
        here, around = table.here, self._around
        if around is None and here is not None and not anew:
            around = here["id"]
        try:
            shown = await self.source.load(
                around,
                0 if anew else table.cursor,
                lambda cursor, total: table.in_sight(table.top_for(cursor), total),
            )
            self._pending = await self.source.pending()
        except AssistantError as error:
            self._failed(error)
            return
        self._loaded, self._around = True, None
        narrowed = self.source.text or self.source.filters != Filters()
        empty = (NONE if narrowed else EMPTY).format(key=keys_of(self))
        table.put(shown.total, shown.pages, shown.cursor, scored=shown.scored, empty=empty)
        self._describe(by_words_alone=shown.by_words_alone)
        self._count_down()

    def _failed(self, error: AssistantError) -> None:
        """Show an error above the table, and make the next check for changes load the rows."""
        self._say(f"{error} {error.mend or ''}".strip())
        self.source.seen = ""

    def _look(self) -> None:
        """Load the rows again if memories have changed. Does nothing while the tab is hidden."""
        if self.session.live and self._loaded and in_sight(self):
            self._compare()

    @work(exclusive=True, group="look")
    async def _compare(self) -> None:
        try:
            version = await self.source.version()
        except AssistantError as error:
            self._failed(error)
            return
        if version != self.source.seen:
            self.load()

    @work(exclusive=True, group="pages")
    async def on_memory_list_needs(self) -> None:
        seen = self.source.seen
        while (page := self.table.needed()) is not None:
            try:
                rows = await self.source.page(page)
            except AssistantError as error:
                self._failed(error)
                self.set_timer(LOOK_S, self.table.answered)
                return
            if self.source.seen != seen:
                break
            self.table.fill(page, rows)
        self.table.answered()

    def _later(self, what: str, do: Callable[[], Any]) -> None:
        """Call `do` after `soon_s` seconds. Another call with the same `what` restarts the wait."""

        def now() -> None:
            self._soon.pop(what, None)
            do()

        if what in self._soon:
            self._soon[what].stop()
        self._soon[what] = self.set_timer(self.soon_s, now)

    @property
    def waiting(self) -> bool:
        """Whether `_later` has scheduled a call that has not been made yet."""
        return bool(self._soon)

    # -- showing --------------------------------------------------------------------------------

    def _describe(self, *, by_words_alone: bool = False) -> None:
        table, source = self.table, self.source
        if not source.text:
            parts = [memories(table.total)]
        elif source.plain:
            parts = [f"{table.total:,} with this text"]
        else:
            parts = [f"{table.total:,} found by recall, best first"]
        if by_words_alone:
            parts.append("by matching words only: the encoder failed")
        parts += filter(None, [source.filters.words()])
        if table.selection:
            parts.append(f"{len(table.selection):,} selected")
        self._say(" · ".join(parts))

    def _name_keys(self) -> None:
        keys = keys_of(self)
        way = LETTERS if self.source.plain else WORDS
        self.query_one(SearchLine).placeholder = way.format(key=keys)
        if not self._loaded:
            empty = EMPTY.format(key=keys) if self.session.live else NOT_LIVE
            self.table.put(0, {}, 0, empty=empty)

    def _say(self, text: str) -> None:
        """Show a text in the line above the table.

        The size of the line doesn't depend on its text, so the layout isn't computed again.
        """
        self.query_one("#about", Static).update(text, layout=False)

    def _count_down(self) -> None:
        line = self.query_one("#countdown", Static)
        text = countdown(self._pending, self.now(), keys_of(self)["undo"])
        line.display = bool(text)
        line.update(text, layout=False)

    def on_memory_list_moved(self) -> None:
        self._describe()
        self._later("detail", self._show_detail)

    def on_memory_list_opened(self) -> None:
        self.add_class("-open")
        self._show_detail()
        self.call_after_refresh(self._focus)

    def _focus(self) -> None:
        (self.detail if self.has_class("-open") else self.table).focus()

    def _show_detail(self) -> None:
        if self.detail.display or self.has_class("-open"):
            self._read_detail()

    @work(exclusive=True, group="detail")
    async def _read_detail(self) -> None:
        here = self.table.here
        if here is None:
            if not self.table.total:
                self.detail.show(None)
            return
        if self.source.filters.state == "being-forgotten":
            self.detail.show(here)
            return
        try:
            request = {"act": "show", "id": here["id"], **self.source.filters.whose}
            (row,) = await self.session.ask(request)
        except AssistantError:  # probably deleted since the rows were loaded
            self._look()
            return
        self.detail.show(row, here, of_this_conversation(row, self.state.turns))

    # -- searching and filtering ----------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value.strip() != self.source.text:
            self._later("search", self._search)

    def on_input_submitted(self) -> None:
        self._search()
        self.table.focus()

    def _search(self) -> None:
        text = self.query_one(SearchLine).value.strip()
        if text != self.source.text:
            self._search_for(text)
            self.load(anew=True)

    def _search_for(self, text: str) -> None:
        self.source.text = text
        self.table.choose(())
        line = self.query_one(SearchLine)
        if line.value.strip() != text:
            line.value = text

    def action_way(self) -> None:
        self.source.plain = not self.source.plain
        self._name_keys()
        what = "plain text" if self.source.plain else "what would be recalled"
        self.notify(f"Searching for {what}.")
        if self.source.text:
            self.load(anew=True)

    @work(exclusive=True, group="dialog")
    async def action_filter(self) -> None:
        with reporting(self):
            users = await self.source.users()
            chosen = await self.asked(FilterDialog(self.source.filters, users))
            if chosen is not None:
                self._filter_by(chosen)

    def action_no_filter(self) -> None:
        self._filter_by(Filters())

    def _filter_by(self, filters: Filters) -> None:
        self.source.filters = filters
        self.table.choose(())
        self.load(anew=True)

    # -- keys -----------------------------------------------------------------------------------

    def chosen(self) -> list[str]:
        """Return the ids of the selected memories.

        If no memory is selected, return the id of the memory under the cursor.
        """
        here = self.table.here
        return sorted(self.table.selection) or ([here["id"]] if here is not None else [])

    def changed(self) -> None:
        self.load()

    def forgotten(self) -> None:
        self.table.choose(())

    async def request(self, **request: Any) -> list[Row]:
        return await super().request(**{**self.source.filters.whose, **request})

    async def action_choose_all(self) -> None:
        with reporting(self):
            ids = await self._shown_ids()
            self.table.choose(ids if self.table.selection != set(ids) else ())

    async def _shown_ids(self) -> list[str]:
        table = self.table
        if self.source.text and not self.source.plain:
            rows = (table.row(index) for index in range(table.total))
            return [row["id"] for row in rows if row is not None]
        return await self.source.ids()

    def action_back(self) -> None:
        """Undo the last step of navigation.

        Close the details, clear the selection, end the search or remove the filters, whichever
        applies first.
        """
        table = self.table
        if not table.has_focus or self.has_class("-open"):
            self.remove_class("-open")
            self.call_after_refresh(table.focus)
        elif table.selection:
            table.choose(())
        elif self.source.text:
            self._search_for("")
            self.load()
        elif self.source.filters != Filters():
            self._filter_by(Filters())
        else:
            self.app.call_later(self.app.run_action, "dismiss")
