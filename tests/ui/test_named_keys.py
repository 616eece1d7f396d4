"""Texts of the screen name the keys that the user has chosen."""

import re
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

import ui.screen
from assistant.events import MemoryUsed, Phase, PhaseChanged, Recalled, StateChanged, StateEntry
from assistant.paths import Home
from assistant.settings import load
from tests.support.fake_sound import BUILT_IN, FakeSound
from tests.support.memory_screen import stage
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import READY, ToldSession, opened, settled
from ui.screen.app import AssistantScreen
from ui.screen.first_run.first_run import FirstExchangeHint
from ui.screen.memory.filters import Filters
from ui.screen.settings.devices_pane import DevicesPane
from ui.screen.settings.tab import SettingsTab
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.lists import Listing
from ui.screen.widgets.pane import SettingsChanged

MEMORY = MemoryUsed("dog", "My dog is called Max.")
OTHERS = {
    "voice.type": "f2",
    "dismiss": "f1",
    "help": "f3",
    "undo": "f4",
    "find": "f5",
    "organiser.add_item": "f6",
    "organiser.add_note": "f7",
    "organiser.add_list": "f8",
    "organiser.undo": "f9",
    "memory.add": "ctrl+n",
    "memory.way": "ctrl+g",
    "memory.forget_sources": "f10",
    "settings.restart": "f11",
    "devices.look": "f12",
}

REMOVED = "Removed. The f9 key brings it back."


def with_others(folder: Path) -> None:
    lines = (f'"{name}" = "{key}"\n' for name, key in OTHERS.items())
    (folder / "settings.toml").write_text("[screen.keys]\n" + "".join(lines))


def words(app: AssistantScreen | PaneApp) -> str:
    """All text on the screen as one line without frames."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", shown(app)).split())


@pytest.mark.parametrize(
    ("chosen", "key"),
    [
        ({}, "ctrl+r"),
        ({"voice.restart": "?"}, "?"),
        ({"voice.restart": "[, f9"}, "["),
        ({"voice.restart": "ctrl+slash"}, "ctrl+/"),
        ({"voice.restart": "enter"}, "enter"),
        ({"voice.restart": "space"}, "space"),
        ({"voice.restart": "escape"}, "esc"),
        ({"voice.restart": ""}, "ctrl+r"),
        ({"voice.type": "ctrl+r"}, "(no key)"),
    ],
)
async def test_keys_are_written_as_people_read_them(
    chosen: dict[str, str], key: str, tmp_path: Path
) -> None:
    async with opened(ToldSession(READY), tmp_path) as (app, _):
        app.set_keymap(chosen)
        assert keys_of(app)["voice.restart"] == key
        assert keys_of(app.query_one(DevicesPane))["voice.restart"] == key


async def test_what_empty_tabs_say_names_the_keys_chosen(tmp_path: Path) -> None:
    with_others(tmp_path)
    session = ToldSession((PhaseChanged(Phase.STARTING),))
    async with opened(session, tmp_path, (120, 40)) as (app, pilot):
        await until(pilot, lambda: "Speak, or press f2 and type." in words(app))
        await app.query_one("#left").mount(hint := FirstExchangeHint(), after=0)
        session.tell(PhaseChanged(Phase.LISTENING))
        await settled(pilot)
        assert "press f2 and type. f3 shows the keys." in words(app)
        hint.remove()
        await pilot.press("f2")
        await until(pilot, lambda: "Type a turn; enter sends it, f1 leaves" in words(app))
        app.set_focus(None)
        await pilot.press("2")
        await settled(pilot)
        assert "f5 searches as recall does; ctrl+g: plain text" in words(app)
        assert "press the key ctrl+n to write" in words(app)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "f5 searches plain text; ctrl+g: as recall" in words(app))
        await pilot.press("6")
        await settled(pilot)
        assert "press f6 for an item, f7 for a note, f8 for a list" in words(app)


async def test_what_is_shown_already_changes_with_the_keys(tmp_path: Path) -> None:
    async with opened(ToldSession(READY), tmp_path) as (app, pilot):
        await until(pilot, lambda: "press i and type" in words(app))
        with_others(tmp_path)
        loaded = load(Home(tmp_path).settings_file, environment={})
        app.post_message(SettingsChanged(loaded, restarted=False))
        await until(pilot, lambda: "press f2 and type" in words(app))
        await pilot.press("2")
        await settled(pilot)
        assert "f5 searches as recall does; ctrl+g: plain text" in words(app)
        assert "press the key ctrl+n to write" in words(app)
        await pilot.press("6")
        await settled(pilot)
        assert "press f6 for an item" in words(app)


async def test_what_is_said_about_forgetting_names_the_key_that_undoes_it(tmp_path: Path) -> None:
    async with stage(tmp_path, told=("My dog is called Max.", "My sister is Eva.")) as here:
        here.app.set_keymap(OTHERS)
        await here.press("d")
        await here.until(lambda: here.app.told != [])
        assert here.app.told == ["Forgotten. For a while, the f4 key brings it back."]
        line = here.app.query_one("#countdown", Static)
        await here.until(lambda: "undo with f4" in str(line.render()))
        here.tab.source.filters = Filters(state="being-forgotten")
        here.tab.load(anew=True)
        await here.until(lambda: "the f4 key brings it back" in words(here.app))


async def test_the_question_before_forgetting_names_keys(tmp_path: Path) -> None:
    session = ToldSession((*READY, Recalled(1, (MEMORY,), missed=False)))
    session.answers["forget"] = [
        {"event": "preview", "memories": 1, "exchanges": 1, "derived": 0, "changing": 0}
        | {"staying": ["x"], "undoable": True, "seen": "1"}
    ]
    with_others(tmp_path)
    async with opened(session, tmp_path) as (app, pilot):
        app.query_one("#injected OptionList", OptionList).focus()
        await pilot.press("d")
        await until(pilot, lambda: app.screen.query("Confirm Static"))
        details = str(app.screen.query(Static)[1].render())
        assert "stay in the transcript; f10 forgets those too." in details
        assert "For a while, the f4 key brings it back." in details


async def test_settings_name_the_keys_chosen(tmp_path: Path) -> None:
    with_others(tmp_path)
    home = Home(tmp_path)
    sound = FakeSound()
    tab = SettingsTab(ToldSession(), home, load(home.settings_file), sound=sound)
    app = PaneApp(tab)
    async with app.run_test(size=(120, 30)) as pilot:
        app.set_keymap(OTHERS)
        started = tab._settings.started
        general = started.general.model_copy(update={"sounds": False})
        tab.runs(started.model_copy(update={"general": general}))
        await until(pilot, lambda: "Restart needed for general.sounds: press f11." in words(app))
        app.set_keymap({**OTHERS, "settings.restart": "f1"})
        await until(pilot, lambda: "Restart needed for general.sounds: press f1." in words(app))
        tab.open("devices")
        sentence = "was found. Connect one and press f12, or press f2 and type."
        await until(pilot, lambda: sentence in words(app))
        sound.there.append(BUILT_IN)
        await pilot.press("f12")
        await until(pilot, lambda: "m measures its level · f12 searches again" in words(app))


async def test_after_a_removal_the_organiser_names_the_key_that_undoes_it(tmp_path: Path) -> None:
    note = StateEntry("n", "", {"text": "The boiler is from 2009."})
    session = ToldSession((*READY, StateChanged("note", (note,))))
    session.answers["state.remove"] = [{"event": "removed", "id": "n"}]
    with_others(tmp_path)
    async with opened(session, tmp_path) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        await pilot.press("G")
        await until(pilot, lambda: app.query_one("OrganiserTab Listing", Listing).here == "n")
        await pilot.press("d")
        await until(pilot, lambda: app._notifications)
        assert [each.message for each in app._notifications] == [REMOVED]


def test_texts_name_bindings_that_exist() -> None:
    screen = Path(ui.screen.__file__).parent
    source = "".join(file.read_text("utf-8") for file in screen.rglob("*.py"))
    named = set(re.findall(r"""\b(?:keys?|keys_of\(\w+\))\[['"]?([a-z_.]+)['"]?\]""", source))
    assert len(named) > 20
    assert named <= set(re.findall(r'id="([a-z_.]+)"', source))
