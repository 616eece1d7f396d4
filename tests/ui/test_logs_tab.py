"""The logs tab, on a home's real log files, which grow and are rotated."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

import pytest
from textual.pilot import Pilot

from assistant.paths import Home
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import ToldSession, opened
from ui.process.logs import DiscreetFormatter, logs_in
from ui.screen.diagnostics import logs_tab
from ui.screen.diagnostics.log_tail import BEGIN_BYTES, LogLine, LogTail
from ui.screen.diagnostics.log_view import MOST, SLACK, LogView


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for new lines so often that no test waits long."""
    monkeypatch.setattr(logs_tab, "EVERY_S", 0.02)


def line(words: str, level: str = "INFO", logger: str = "assistant.app") -> str:
    return f"2026-03-01 12:00:00,123 {level} {logger}: {words}\n"


def write(file: Path, *lines: str) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.writelines(lines)


@asynccontextmanager
async def tab(
    home: Home, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[PaneApp, Pilot[None], LogView]]:
    app = PaneApp(logs_tab.LogsTab(home))
    async with app.run_test(size=size) as pilot:
        view = app.query_one(LogView)
        view.focus()
        await pilot.pause()
        yield app, pilot, view


# -- reading ------------------------------------------------------------------------------------


def test_each_line_is_read_once(home: Home) -> None:
    tail = LogTail(home.log)
    assert tail.read() == []
    write(home.log, line("one"), "2026-03-01 12:00:01,000 ERROR ui.hos")
    assert tail.read() == [LogLine("INFO", "12:00:00", "assistant.app", "one")]
    assert tail.read() == []
    write(home.log, "ted: two\n", "Traceback\n")
    assert tail.read() == [
        LogLine("ERROR", "12:00:01", "ui.hosted", "two"),
        LogLine("ERROR", "", "", "Traceback"),
    ]
    home.log.write_text(line("new"))  # the file is now shorter, so it is read from its beginning
    assert [each.text for each in tail.read()] == ["new"]


def test_nothing_is_lost_when_the_log_is_rotated(home: Home) -> None:
    tail, text = LogTail(home.log), []
    handler = RotatingFileHandler(home.log, maxBytes=400, backupCount=3, encoding="utf-8")
    handler.setFormatter(DiscreetFormatter())
    for number in range(20):
        record = logging.LogRecord("ui", logging.INFO, "", 0, f"line {number}", None, None)
        handler.emit(record)
        if number % 3 == 0:
            text += [each.text for each in tail.read()]
    handler.close()
    text += [each.text for each in tail.read()]
    assert text == [f"line {number}" for number in range(20)]
    assert home.log.with_name("assistant.log.2").exists()


def test_all_that_is_unread_in_a_rotated_log_is_read_even_a_line_without_an_end(
    home: Home,
) -> None:
    tail = LogTail(home.log)
    write(home.log, line("number 0"))
    text = [each.text for each in tail.read()]
    lines = [line(f"number {n} {'x' * 100_000}") for n in range(1, 20)]
    write(home.log, *lines, line("number 20").rstrip("\n"))
    home.log.rename(home.log.with_name("assistant.log.1"))
    write(home.log, line("number 21"))
    text += [each.text.rstrip("x ") for each in tail.read()]
    assert text == [f"number {n}" for n in range(22)]


def test_only_the_last_whole_lines_of_a_long_log_are_read(home: Home) -> None:
    write(home.log, *(line(f"number {n:06}") for n in range(10_000)))
    lines = LogTail(home.log).read()
    assert home.log.stat().st_size > 2 * BEGIN_BYTES
    assert lines[-1].text == "number 009999"
    assert all(each.text.startswith("number ") for each in lines)
    assert len(lines) < 5_000


def test_terminal_control_sequences_are_removed(home: Home) -> None:
    write(home.native_log, "\x1b[31mred\x1b[0m\a \x9b2J done\r\n")
    assert [each.text for each in LogTail(home.native_log).read()] == ["red 2J done"]


# -- by keys ------------------------------------------------------------------------------------


async def test_lines_appear_as_they_are_written(home: Home) -> None:
    with logs_in(home):
        async with tab(home, (120, 40)) as (app, pilot, _):
            assert logs_tab.EMPTY.split(".")[0] in shown(app)
            logging.getLogger("assistant.voice").warning("The canceller has no reference.")
            await until(pilot, lambda: "has no reference" in shown(app))
            logging.getLogger("models.download.cache").error("It broke.")
            await until(pilot, lambda: "It broke." in shown(app))
            assert "WARNING  assistant.voice: The canceller has no reference." in shown(app)
            assert "ERROR    models.download.cache: It broke." in shown(app)


async def test_scrolling_up_pauses_following_until_the_end_is_reached_again(home: Home) -> None:
    write(home.log, *(line(f"number {n}") for n in range(200)))
    async with tab(home) as (app, pilot, view):
        await until(pilot, lambda: "number 199" in shown(app))
        await pilot.press("k", "k")
        write(home.log, line("fresh"), line("fresher"))
        await until(pilot, lambda: view.unread == 2)
        assert "+2 new" in shown(app)
        assert "fresher" not in shown(app)
        await pilot.press("G")
        await until(pilot, lambda: "fresher" in shown(app))
        assert "new," not in shown(app)
        await pilot.press("g")
        await until(pilot, lambda: "number 0" in shown(app))
        await pilot.press("end")
        write(home.log, line("the last"))
        await until(pilot, lambda: "the last" in shown(app))


async def test_levels_and_words_filter_the_log_and_letters_typed_there_are_text(home: Home) -> None:
    write(home.log, line("we want water"), line("hm", "WARNING"), line("bad", "ERROR"), "  there\n")
    async with tab(home) as (app, pilot, view):

        async def after(*keys: str) -> set[str]:
            """Which of the words are shown."""
            await pilot.press(*keys)
            await pilot.pause()
            return {each for each in ("water", "hm", "bad", "there") if each in shown(app)}

        await until(pilot, lambda: "there" in shown(app))
        assert await after("w") == {"hm", "bad", "there"}
        assert "warnings and errors" in shown(app)
        assert await after("e") == {"bad", "there"}
        assert await after("a") == {"water", "hm", "bad", "there"}
        assert await after("slash", *"want w") == {"water"}
        assert "all levels, with" in shown(app)
        assert await after("enter", "slash", "x") == set()
        assert "No line matches." in shown(app)
        assert await after("escape") == {"water", "hm", "bad", "there"}
        await until(pilot, lambda: app.focused is view)


async def test_n_switches_to_the_other_log(home: Home) -> None:
    write(home.log, line("ours"))
    write(home.native_log, "ggml: theirs\n")
    async with tab(home) as (app, pilot, _):
        await until(pilot, lambda: "ours" in shown(app))
        await pilot.press("n")
        await until(pilot, lambda: "ggml: theirs" in shown(app))
        assert "ours" not in shown(app)
        await pilot.press("e")
        await until(pilot, lambda: "libraries' output, errors" in shown(app))
        assert "theirs" in shown(app)  # a log without levels is not filtered by level
        await pilot.press("n")
        await until(pilot, lambda: "theirs" not in shown(app))


async def test_memory_is_bounded_and_the_view_stays_put_while_scrolled_up(home: Home) -> None:
    write(home.log, *(line(f"n{n}") for n in range(MOST)))
    async with tab(home) as (app, pilot, view):
        await until(pilot, lambda: view.held == MOST)
        await pilot.press("pageup")
        await until(pilot, lambda: f"n{MOST - 1}" not in shown(app))
        seen = shown(app).splitlines()[5]
        write(home.log, *(line(f"m{n}") for n in range(SLACK + 1)))
        await until(pilot, lambda: view.unread == SLACK + 1)
        assert view.held == MOST
        assert seen in shown(app)
        write(home.log, *(line(f"x{n}") for n in range(MOST)))
        await until(pilot, lambda: view.unread > MOST)
        await pilot.press("g")
        await until(pilot, lambda: "app: x0" in shown(app))
        assert view.held == MOST


async def test_long_lines_are_wrapped_to_the_width(home: Home) -> None:
    write(home.log, line("word " * 40 + "end"), line("Ω" * 100 + "konec"))
    async with tab(home) as (app, pilot, _):
        await until(pilot, lambda: "konec" in "".join(shown(app).split()))
        await pilot.resize_terminal(200, 50)
        await until(pilot, lambda: "Ω" * 100 + "konec" in shown(app))
        assert "word end" in shown(app)


async def test_the_tab_reads_only_while_it_is_shown(home: Home) -> None:
    async with opened(ToldSession(), home.root, (80, 24)) as (app, pilot):
        view = app.query_one(LogView)
        write(home.log, line("before"))
        await pilot.pause(0.1)
        assert view.held == 0
        await pilot.press("5")
        await until(pilot, lambda: view.held == 1)
        await pilot.press("1")
        write(home.log, line("after"))
        await pilot.pause(0.1)
        assert view.held == 1
