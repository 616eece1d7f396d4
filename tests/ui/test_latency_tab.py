"""The latency tab: a bar for each turn, and usual values. `test_snapshots.py` has its pictures."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import TabbedContent

from assistant.events import Event, Latency, Recalled, TurnEnded, TurnHeard
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import AT, ToldSession, opened
from ui.screen.diagnostics.latency_tab import BEYOND, LatencyTab, Turns, bar, row, scale, usual
from ui.screen.talk.context_pane import ContextPane
from ui.session.state import ScreenState, Turn, fold

FAST = Latency(100.0, 150.0, 155.0, 300.0, 400.0)


def spoken(
    number: int, latency: Latency = FAST, *, missed: bool = False, words: str = "What is new?"
) -> Iterator[Event]:
    yield Recalled(number, (), missed)
    yield TurnHeard(number, words)
    yield TurnEnded(number, words, "Nothing.", False, latency, (), 900, 1200, 40.0)


def folded(*events: Event) -> list[Turn]:
    state = ScreenState()
    for event in events:
        fold(state, event, AT)
    return state.turns


def turns(*latencies: Latency) -> list[Turn]:
    """Turns with these latencies; the recall of the first turn was late."""
    numbered = enumerate(latencies, 1)
    return folded(*(event for n, each in numbered for event in spoken(n, each, missed=n == 1)))


# -- drawing ------------------------------------------------------------------------------------


def test_late_replaced_and_brief_recalls_are_marked_differently() -> None:
    recalls = (
        Recalled(1, (), missed=True),
        Recalled(2, (), missed=False, stand_in=True),
        Recalled(3, (), missed=False, stand_in=True, brief=True),
        Recalled(4, (), missed=False),
    )
    over = folded(*(event for each in recalls for event in (*spoken(each.turn), each)))
    lines = [row(turn, 400.0, 100).plain for turn in over]
    marks = ("recall late", "fast encoder", "shortened")
    assert [[mark for mark in marks if mark in line] for line in lines] == [
        ["recall late"],
        ["fast encoder"],
        ["shortened"],
        [],
    ]
    assert {len(line) for line in lines} == {100}
    assert all(line.endswith("1,200 read    40.0/s") for line in lines)
    assert row(over[0], 400.0, 200).plain.endswith("What is new?")
    assert usual(over).plain.splitlines()[-1] == (
        "recall: late in 1 of 4 turns, just the fast encoder in 2, shortened in 1"
        " · 1,200 tokens read (p50) · 40.0 tokens/s (p50)"
    )


def test_a_too_long_bar_is_marked_and_a_short_one_is_padded() -> None:
    assert bar(FAST, whole=200.0, cells=20).plain.endswith("»")
    assert bar(FAST, whole=800.0, cells=20).plain == "E▬W▬T▬▬▬S▬".ljust(20)
    assert bar(Latency(), whole=800.0, cells=20).plain == " " * 20


def test_one_very_slow_turn_does_not_shorten_all_other_bars() -> None:
    stray = Latency(first_audio=60_000.0)
    assert scale(turns(*[FAST] * 100, stray)) == BEYOND * 400.0
    assert scale(turns(Latency())) == 0.0


# -- keys ---------------------------------------------------------------------------------------


async def test_enter_opens_the_turn_under_the_cursor(tmp_path: Path) -> None:
    session = ToldSession((*spoken(1), *spoken(2), *spoken(3)))
    async with opened(session, tmp_path) as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: app.query_one(Turns).highlighted == 2)
        await pilot.press("k", "enter")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "talk")
        assert app.query_one(ContextPane).chosen_turn == 2


async def test_the_cursor_follows_the_newest_turn_until_the_user_moves_it() -> None:
    tab, state = LatencyTab(), ScreenState()
    app = PaneApp(tab)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "When a turn is over, it gets a bar here" in shown(app)
        listing = app.query_one(Turns)
        for number, cursor in ((1, 0), (2, 1), (3, 0)):
            for event in spoken(number, missed=True, words="word " * 80):
                fold(state, event, AT)
            tab.show(state)
            await pilot.pause()
            assert listing.highlighted == cursor
            listing.focus()
            await pilot.press(*["g"] * (number == 2))
        for width in (80, 120, 200):
            await pilot.resize_terminal(width, 40)
            tab.show(state)
            await pilot.pause()
            lines = [str(option.prompt) for option in listing.options]
            assert [line.split()[0] for line in lines] == ["1", "2", "3"]
            assert max(map(len, lines)) <= listing.scrollable_content_region.width
            assert "recall late" in shown(app)


async def test_without_colour_only_the_terminals_default_colours_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(ToldSession((*spoken(1),)), tmp_path, (80, 24)) as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: "E▬" in shown(app))
        filters = app.get_line_filters()
        strips = app.screen._compositor.render_strips()[: app.size.height]
        drawn = [
            strip.apply_filter(each, app.background_colors[1])
            for strip in strips
            for each in filters
        ]
        styles = [segment.style for strip in drawn for segment in strip if segment.style]
        assert {style.color.name for style in styles if style.color} == {"default"}
        assert {style.bgcolor.name for style in styles if style.bgcolor} == {"default"}
        assert any("E▬" in strip.text for strip in drawn)
