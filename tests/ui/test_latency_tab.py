"""The latency tab: a bar for each turn, and what is usual."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TabbedContent

from assistant.events import Event, Latency, Recalled, TurnEnded, TurnHeard
from tests.support.panes import PaneApp
from tests.support.pilots import shown
from tests.support.screens import AT, ToldSession, screen
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


def test_what_was_ranked_in_brief_is_told() -> None:
    state = ScreenState()
    for number, brief in enumerate((True, False), 1):
        fold(state, Recalled(number, (), missed=False, stand_in=brief, brief=brief), AT)
        fold(state, TurnEnded(number, "What is new?", "Nothing.", False, FAST), AT)
    assert [row(turn, 1_000, 200).plain.count("in brief") for turn in state.turns] == [1, 0]
    assert "in brief in 1" in usual(state.turns).plain


def test_a_stand_in_is_told_apart_from_a_miss() -> None:
    state = ScreenState()
    for number, (missed, stand_in) in enumerate(((True, False), (False, True), (False, False)), 1):
        fold(state, Recalled(number, (), missed, stand_in), AT)
        fold(state, TurnHeard(number, "What is new?"), AT)
        fold(state, TurnEnded(number, "What is new?", "Nothing.", False, FAST), AT)
    lines = [row(turn, 400.0, 100).plain for turn in state.turns]
    assert ["recall late" in line for line in lines] == [True, False, False]
    assert ["stand-in" in line for line in lines] == [False, True, False]
    assert len({len(line) for line in lines}) == 1
    assert "late in 1 of 3 turns, with the fast encoder in 1" in usual(state.turns).plain


def turns(*latencies: Latency) -> list[Turn]:
    state = ScreenState()
    for number, latency in enumerate(latencies, 1):
        for event in spoken(number, latency, missed=number == 1):
            fold(state, event, AT)
    return state.turns


async def settle(pilot: Pilot[int]) -> None:
    """The state is drawn, and the key has had its effect."""
    await pilot.pause(0.1)
    await pilot.pause()


def prompts(app: PaneApp) -> list[str]:
    return [str(option.prompt) for option in app.query_one(Turns).options]


# -- drawing ------------------------------------------------------------------------------------


def test_a_bar_has_a_letter_for_each_step_as_long_as_it_took() -> None:
    text = bar(FAST, whole=400.0, cells=40)

    assert text.plain == "E▬▬▬▬▬▬▬▬▬W▬▬▬▬RT▬▬▬▬▬▬▬▬▬▬▬▬▬S▬▬▬▬▬▬▬▬▬"
    assert {str(span.style) for span in text.spans} >= {"black on blue", "black on cyan"}


def test_a_bar_that_is_too_long_says_so_and_a_short_one_is_filled_up() -> None:
    assert bar(FAST, whole=200.0, cells=20).plain.endswith("»")
    assert bar(FAST, whole=800.0, cells=20).plain == "E▬W▬T▬▬▬S▬".ljust(20)
    assert bar(Latency(), whole=800.0, cells=20).plain == " " * 20


def test_one_stray_turn_does_not_make_all_others_short() -> None:
    stray = Latency(first_audio=60_000.0)

    assert scale(turns(*[FAST] * 100, stray)) == BEYOND * 400.0
    assert scale(turns(Latency())) == 0.0


def test_a_row_tells_time_miss_tokens_and_speed() -> None:
    first, second = turns(FAST, FAST)

    assert row(first, 400.0, 76).plain.split()[2:] == (
        ["400", "ms", "recall", "late", "1,200", "read", "40.0/s"]
    )
    assert "late" not in row(second, 400.0, 76).plain
    assert row(second, 400.0, 200).plain.endswith("What is new?")
    assert row(second, 400.0, 76).cell_len <= 76


def test_what_is_usual_is_told_by_step_and_from_the_end_of_speech() -> None:
    slow = Latency(300.0, 350.0, 355.0, 700.0, 900.0)
    lines = usual(turns(FAST, slow)).plain.splitlines()

    assert lines[2].split() == [
        "E",
        "end",
        "of",
        "turn",
        "200",
        "ms",
        "290",
        "ms",
        "200",
        "ms",
        "290",
        "ms",
    ]
    assert lines[6].split() == [
        "S",
        "first",
        "sound",
        "150",
        "ms",
        "195",
        "ms",
        "650",
        "ms",
        "875",
        "ms",
    ]
    assert lines[7] == (
        "recall late in 1 of 2 turns · 1,200 tokens read (p50) · 40.0 tokens/s (p50)"
    )


# -- keys ---------------------------------------------------------------------------------------


async def test_before_the_first_turn_it_says_what_will_be_there() -> None:
    app = PaneApp(LatencyTab())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        assert "When a turn is over, it gets a bar here" in shown(app)


async def test_enter_opens_the_turn_under_the_cursor(tmp_path: Path) -> None:
    app = screen(
        ToldSession(
            (
                *spoken(1),
                *spoken(2),
                *spoken(3),
            )
        ),
        tmp_path,
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("3")
        await settle(pilot)
        assert app.query_one(Turns).highlighted == 2
        await pilot.press("k", "enter")
        await settle(pilot)

        assert app.query_one(TabbedContent).active == "talk"
        assert app.query_one(ContextPane)._chosen == 2


async def test_the_cursor_follows_the_newest_until_it_is_moved() -> None:
    tab, state = LatencyTab(), ScreenState()
    app = PaneApp(tab)

    async def tell(pilot: Pilot[None], *numbers: int) -> int | None:
        for number in numbers:
            for event in spoken(number):
                fold(state, event, AT)
        tab.show(state)
        await pilot.pause()
        return app.query_one(Turns).highlighted

    async with app.run_test(size=(80, 24)) as pilot:
        assert await tell(pilot, 1, 2) == 1
        assert await tell(pilot, 3) == 2
        app.query_one(Turns).focus()
        await pilot.press("g")

        assert await tell(pilot, 4) == 0
        assert [line.split()[0] for line in prompts(app)] == ["1", "2", "3", "4"]


async def test_no_row_is_wider_than_the_terminal() -> None:
    tab, state = LatencyTab(), ScreenState()
    for event in spoken(1, missed=True, words="word " * 80):
        fold(state, event, AT)
    app = PaneApp(tab)
    async with app.run_test(size=(80, 24)) as pilot:
        for width in (80, 120, 200):
            await pilot.resize_terminal(width, 40)
            tab.show(state)
            await pilot.pause()
            [line] = prompts(app)
            assert len(line) <= app.query_one(Turns).scrollable_content_region.width
            assert "recall late" in shown(app)


async def test_without_colour_the_terminals_own_two_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = screen(ToldSession((*spoken(1),)), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("3")
        await settle(pilot)
        filters = app.get_line_filters()
        strips = app.screen._compositor.render_strips()[: app.size.height]
        shown = [
            strip.apply_filter(each, app.background_colors[1])
            for strip in strips
            for each in filters
        ]
        styles = [segment.style for strip in shown for segment in strip if segment.style]

        assert {style.color.name for style in styles if style.color} == {"default"}
        assert {style.bgcolor.name for style in styles if style.bgcolor} == {"default"}
        assert any("E▬" in strip.text for strip in shown)
