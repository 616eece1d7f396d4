"""The keys of the screen, and what is typed."""

from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Key
from textual.widgets import Input, TabbedContent

from assistant.events import Phase, PhaseChanged, RecordChanged
from tests.support.pilots import until
from tests.support.screens import READY, ToldSession, opened
from ui.screen.memory.tab import SearchLine
from ui.screen.widgets.filter_line import FilterLine


async def test_keys_are_commands(tmp_path: Path) -> None:
    session = ToldSession(READY)
    listening = PhaseChanged(Phase.LISTENING)
    async with opened(session, tmp_path) as (_, pilot):
        for event, key, command in (
            (listening, "space", "mute"),
            (PhaseChanged(Phase.MUTED), "space", "unmute"),
            (listening, "x", "stop"),
            (listening, "t", "talk"),
            (listening, "s", "sleep"),
            (PhaseChanged(Phase.ASLEEP), "s", "wake"),
            (listening, "o", "off-record"),
            (RecordChanged(off=True), "o", "on-record"),
        ):
            session.tell(event)
            await pilot.press(key)
            assert session.done.pop() == command
            assert session.done == []


async def test_space_opens_and_closes_the_microphone_in_push_to_talk(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[audio]\npush_to_talk = true\n")
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (_, pilot):
        await pilot.press("space")
        assert session.done == ["talk"]


async def test_a_turn_can_be_typed_and_letters_are_letters_there(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (_, pilot):
        await pilot.press("i", *"xu1 ?", "enter")
        assert session.said == ["xu1 ?"]
        assert session.done == []
        await pilot.press("escape", "x")
        assert session.done == ["stop"]


async def test_letters_that_follow_at_once_are_text(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path, (80, 24)) as (app, pilot):
        for key in ("i", *"xrust"):
            app.post_message(Key(key, key))
        await until(pilot, lambda: app.query_one("#typed", Input).value == "xrust")
        await pilot.press("ctrl+u", "escape")
        for key in ("slash", *"xrust"):
            app.post_message(Key(key, "/" if key == "slash" else key))
        await until(pilot, lambda: app.query_one(SearchLine).value == "xrust")
        assert session.done == []


@pytest.mark.parametrize("tab", ["4", "5"])
async def test_letters_after_a_tabs_own_find_are_text(tmp_path: Path, tab: str) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path, (80, 24)) as (app, pilot):
        await pilot.press(tab)
        for key in ("slash", *"xrust"):
            app.post_message(Key(key, "/" if key == "slash" else key))
        await until(pilot, lambda: "xrust" in [line.value for line in app.query(FilterLine)])
        assert session.done == []


async def test_tabs_have_keys(tmp_path: Path) -> None:
    async with opened(ToldSession(READY), tmp_path) as (app, pilot):
        for number, name in enumerate(("talk", "memory", "latency", "settings", "logs"), start=1):
            await pilot.press(str(number))
            assert app.query_one(TabbedContent).active == name


async def test_the_palette_has_every_action_with_a_key(tmp_path: Path) -> None:
    async with opened(ToldSession(READY), tmp_path) as (app, _):
        offered = {command.title for command in app.get_system_commands(app.screen)}
        named = {
            binding.description
            for _, binding, enabled, _ in app.screen.active_bindings.values()
            if enabled and binding.description
        }
    assert named <= offered
    assert {"Mute", "Stop speaking", "Find", "Undo", "Theme"} <= offered


def test_every_binding_has_a_name() -> None:
    ours = [part for part in _parts(DOMNode) if part.__module__.startswith("ui.screen")]
    bindings = [binding for part in ours for binding in vars(part).get("BINDINGS", ())]
    assert len(bindings) > 20
    assert [
        binding for binding in bindings if not isinstance(binding, Binding) or not binding.id
    ] == []


def _parts(kind: type[DOMNode]) -> list[type[DOMNode]]:
    return [part for child in kind.__subclasses__() for part in (child, *_parts(child))]


async def test_every_binding_can_be_another_key(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[screen.keys]\n"voice.stop" = "z"\n')
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (_, pilot):
        await pilot.press("z")
        assert session.done == ["stop"]
        await pilot.press("x")
        assert session.done == ["stop"]
