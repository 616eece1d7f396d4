"""The keys of the screen, and its input lines."""

from functools import partial
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Key
from textual.widgets import Input, TabbedContent

from assistant.errors import StoreError
from assistant.events import Phase, PhaseChanged, RecordChanged
from tests.support.pilots import until
from tests.support.screens import READY, ToldSession, opened, settled


async def test_keys_send_commands(tmp_path: Path) -> None:
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


async def test_the_settings_can_change_a_binding_and_push_to_talk_changes_space(
    tmp_path: Path,
) -> None:
    settings = '[audio]\npush_to_talk = true\n[screen.keys]\n"voice.stop" = "z"\n'
    (tmp_path / "settings.toml").write_text(settings)
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (_, pilot):
        await pilot.press("z", "x", "space")
        assert session.done == ["stop", "talk"]


async def test_a_turn_can_be_typed_and_its_letters_are_not_commands(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (_, pilot):
        await pilot.press("i", *"xu1 ?", "enter")
        assert session.said == ["xu1 ?"]
        assert session.done == []
        await pilot.press("escape", "x")
        assert session.done == ["stop"]


def _has(field: Input, text: str) -> bool:
    return field.value == text


async def test_letters_typed_right_after_opening_an_input_line_are_text(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path, (80, 24)) as (app, pilot):
        for tab, opening, line in (
            ("1", "i", "#typed"),
            ("1", "slash", "SearchLine"),
            ("4", "slash", "SettingsPane FilterLine"),
            ("5", "slash", "LogsTab FilterLine"),
        ):
            await pilot.press(tab)
            for key in (opening, *"xrust"):
                app.post_message(Key(key, "/" if key == "slash" else key))
            typed = partial(_has, app.query_one(line, Input), "xrust")
            await until(pilot, typed)
            await pilot.press("ctrl+u", "escape")
        assert session.done == []


async def test_tabs_have_keys_and_the_palette_has_every_action_that_has_a_key(
    tmp_path: Path,
) -> None:
    async with opened(ToldSession(READY), tmp_path) as (app, pilot):
        offered = {command.title for command in app.get_system_commands(app.screen)}
        named = {
            binding.description
            for _, binding, enabled, _ in app.screen.active_bindings.values()
            if enabled and binding.description
        }
        for number, name in enumerate(("talk", "memory", "latency", "settings", "logs"), start=1):
            await pilot.press(str(number))
            assert app.query_one(TabbedContent).active == name
    assert named <= offered
    assert {"Mute", "Stop speaking", "Find", "Undo", "Theme"} <= offered


def _restarted(session: ToldSession, times: int) -> bool:
    return len(session.restarted) == times


async def test_the_key_that_restarts_an_ended_assistant_works_in_every_tab(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (app, pilot):
        for times, keys in enumerate(("1", "2", "2/", "3", "4", "5", "6"), start=1):
            await pilot.press(keys[0])
            if len(keys) > 1:
                await pilot.press("slash")
                await until(pilot, lambda: isinstance(app.focused, Input))
            app.ended(StoreError("It is gone."))
            await settled(pilot)
            await pilot.press("ctrl+r")
            await until(pilot, partial(_restarted, session, times))
            session.tell(*READY)
            await settled(pilot)


def test_every_binding_has_an_id() -> None:
    ours = [part for part in _parts(DOMNode) if part.__module__.startswith("ui.screen")]
    bindings = [binding for part in ours for binding in vars(part).get("BINDINGS", ())]
    assert len(bindings) > 20
    assert [
        binding for binding in bindings if not isinstance(binding, Binding) or not binding.id
    ] == []


def _parts(kind: type[DOMNode]) -> list[type[DOMNode]]:
    return [part for child in kind.__subclasses__() for part in (child, *_parts(child))]
