"""The table of memories, which holds only the rows near the visible ones."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.support.patience import PATIENCE_S
from ui.screen.memory.table import PAGE, MemoryList

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
TOTAL = 10_000

Row = dict[str, Any]


def row(index: int, text: str = "") -> Row:
    return {
        "id": f"{index:08d}aa",
        "short": f"{index:08d}",
        "kind": "exchange",
        "speaker": "user" if index % 2 else "assistant",
        "created": (NOW - timedelta(hours=index)).isoformat(),
        "pinned": index == 3,
        "never_recall": False,
        "superseded_by": None,
        "text": text or f"memory number {index}",
    }


def page(number: int, total: int = TOTAL) -> list[Row]:
    return [row(index) for index in range(number * PAGE, min((number + 1) * PAGE, total))]


class Alone(App[None]):
    """An app with only the table, which gets the pages that it requests."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[int] = []
        self.moved = 0

    def compose(self) -> ComposeResult:
        yield MemoryList(lambda: NOW)

    @property
    def table(self) -> MemoryList:
        return self.query_one(MemoryList)

    def on_memory_list_needs(self) -> None:
        while (needed := self.table.needed()) is not None:
            self.given.append(needed)
            self.table.fill(needed, page(needed))
        self.table.answered()

    def on_memory_list_moved(self) -> None:
        self.moved += 1

    def lines(self) -> list[str]:
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]


async def drawn(pilot: Pilot[None]) -> None:
    """Wait until all visible rows are loaded."""
    app = pilot.app
    assert isinstance(app, Alone)
    async with asyncio.timeout(PATIENCE_S):
        await pilot.pause()
        while app.table.needed() is not None:
            await pilot.pause(0.01)


async def filled(pilot: Pilot[None], total: int = TOTAL) -> Alone:
    app = pilot.app
    assert isinstance(app, Alone)
    app.table.put(total, {0: page(0, total)}, 0)
    app.table.focus()
    await drawn(pilot)
    return app


async def test_only_the_viewed_pages_of_ten_thousand_rows_are_read() -> None:
    async with Alone().run_test(size=(100, 20)) as pilot:
        app = await filled(pilot)
        assert app.lines()[0].split() == ["when", "what", "text"]
        assert "memory number 0" in app.lines()[1]
        assert "memory number 18" in app.lines()[19]
        assert app.given == []
        await pilot.press("G")
        await drawn(pilot)
        assert "memory number 9999" in app.lines()[19]
        assert app.lines()[19].startswith("›")
        assert app.table.here == row(9999)
        assert app.given == [99]
        await pilot.press("g", "pagedown", "down", "j", "k")
        assert app.table.cursor == 19
        await pilot.press("pageup")
        assert app.table.cursor == 1
        await pilot.press("end", "pageup")
        assert app.table.cursor == 9999 - 18
        await pilot.press("home", "up")
        assert app.table.cursor == 0


async def test_distant_pages_are_dropped_and_loaded_again() -> None:
    async with Alone().run_test(size=(80, 24)) as pilot:
        app = await filled(pilot)
        for place in range(0, 22 * PAGE, PAGE):
            app.table.go(place)
            await drawn(pilot)
        assert app.table.row(0) is None
        await pilot.press("g")
        await drawn(pilot)
        assert "memory number 0" in app.lines()[1]
        assert all("…" not in line for line in app.lines())


async def test_rows_inserted_above_leave_the_cursor_on_its_row() -> None:
    async with Alone().run_test(size=(80, 24)) as pilot:
        app = await filled(pilot)
        app.table.go(5_000)
        await drawn(pilot)
        app.table.choose({row(5_000)["id"]})
        before = app.lines()
        at = next(y for y, line in enumerate(before) if line.startswith("›✓"))
        later = {number: page(number - 1) for number in (50, 51)}
        app.table.put(TOTAL + PAGE, later, 5_100)
        await drawn(pilot)
        assert app.table.here == row(5_000)
        assert app.lines()[1:] == before[1:]
        assert app.lines()[at].startswith("›✓")


async def test_the_table_can_shrink_and_become_empty() -> None:
    async with Alone().run_test(size=(80, 24)) as pilot:
        app = await filled(pilot)
        await pilot.press("G")
        app.table.put(3, {0: page(0, 3)}, 9_999)
        await drawn(pilot)
        assert (app.table.cursor, app.table.scroll_offset.y) == (2, 0)
        assert [line for line in app.lines() if "memory" in line] == app.lines()[1:4]
        app.table.put(0, {}, 0, empty="Nothing is here yet. " * 5)
        await drawn(pilot)
        assert app.table.here is None
        assert app.lines()[1].startswith("Nothing is here yet.")
        await pilot.press("down", "G", "enter", "space", "pagedown")
        assert app.table.cursor == 0
        assert app.table.selection == set()


async def test_columns_fit_the_width_and_scores_have_a_column() -> None:
    narrow = ["when", "what", "text"]
    async with Alone().run_test(size=(60, 24)) as pilot:
        app = await filled(pilot, 50)
        app.table.put(50, {0: [row(0, "日本語 text\x1b[31m\n" * 30), *page(0, 50)[1:]]}, 0)
        for width, columns in ((60, narrow), (80, narrow), (120, ["id", *narrow])):
            await pilot.resize_terminal(width, 24)
            await drawn(pilot)
            assert app.lines()[0].split() == columns
            strips = [app.table.render_line(y) for y in range(24)]
            room = app.table.scrollable_content_region.width
            assert {strip.cell_length for strip in strips} == {room}
            assert "\x1b" not in app.lines()[1]
            assert app.lines()[1].endswith("…")
            assert "[pinned] memory number 3" in app.lines()[4]
        found = [row(index) | {"score": 1 - index / 10} for index in range(4)]
        app.table.put(4, {0: found}, 0, scored=True)
        await drawn(pilot)
        assert app.lines()[0].split()[0] == "score"
        assert " 0.90 " in app.lines()[2]


async def test_the_mouse_moves_the_cursor_selects_rows_and_scrolls() -> None:
    async with Alone().run_test(size=(80, 24)) as pilot:
        app = await filled(pilot)
        await pilot.click(MemoryList, offset=(30, 6))
        assert app.table.cursor == 5
        await pilot.click(MemoryList, offset=(1, 7))
        assert app.table.selection == {row(6)["id"]}
        await pilot.click(MemoryList, offset=(30, 0))
        assert app.table.cursor == 6
        wheel = events.MouseScrollDown(app.table, 5, 5, 0, 0, 0, False, False, False)
        app.table.post_message(wheel)
        await drawn(pilot)
        assert app.table.scroll_offset.y > 0
        assert app.table.cursor == 6
