"""The settings tab by keys, on a real settings file."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from assistant.errors import SettingsError, StoreError
from assistant.paths import Home
from assistant.settings import Settings, load
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import ToldSession, screen
from ui.screen.settings.model import MOST_WANTED, SettingsModel, choices, typed
from ui.screen.settings.model import shown as value_text
from ui.screen.settings.settings_pane import SettingsPane, explained, row
from ui.screen.settings.tab import SettingsTab, missing_models
from ui.screen.widgets.choose_dialog import ChooseDialog
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.listing import Listing
from ui.session.settings_file import set_setting

Opened = tuple[PaneApp, Pilot[None]]


def nothing_missing(_: Settings) -> list[str]:
    return []


@asynccontextmanager
async def opened(
    home: Home,
    session: ToldSession | None = None,
    *,
    flags: dict[str, str] | None = None,
    missing: Callable[[Settings], list[str]] = nothing_missing,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Opened]:
    loaded = load(home.settings_file, flags=flags)
    app = PaneApp(
        SettingsTab(session or ToldSession(), home, loaded, missing=missing, reason=lambda _: None)
    )
    async with app.run_test(size=size) as pilot:
        listing = app.query_one(SettingsPane).query_one(Listing)
        await until(pilot, lambda: listing.highlighted is not None)
        listing.focus()
        await pilot.pause()
        yield app, pilot


def go_to(app: PaneApp, key: str) -> None:
    listing = app.query_one(SettingsPane).query_one(Listing)
    listing.highlighted = listing.get_option_index(key)


def in_file(home: Home, key: str) -> object:
    section, _, name = key.partition(".")
    return getattr(getattr(load(home.settings_file).settings, section), name)


async def written(pilot: Pilot[None], app: PaneApp, times: int = 1) -> None:
    await until(pilot, lambda: len(app.changes) == times)


# -- what is shown ------------------------------------------------------------------------------


async def test_the_most_wanted_come_first_and_all_are_there(home: Home) -> None:
    async with opened(home, size=(120, 40)) as (app, _):
        listing = app.query_one(SettingsPane).query_one(Listing)
        ids = [option.id for option in listing.options if option.id is not None]
        assert ids[: len(MOST_WANTED)] == [f"wanted:{key}" for key in MOST_WANTED]
        assert set(ids[len(MOST_WANTED) :]) == set(load(home.settings_file).sources)
        assert "persona.name" in shown(app)
        assert "The assistant's name." in shown(app)


async def test_the_one_under_the_cursor_is_explained(home: Home) -> None:
    set_setting(home, "turn.stop_s", "0.5")
    async with opened(home) as (app, pilot):
        go_to(app, "turn.stop_s")
        await pilot.pause()

        assert "turn.stop_s = 0.5   default: 0.35" in shown(app)
        assert "Seconds of silence that end a turn" in shown(app)


def test_a_row_fits_a_narrow_terminal(home: Home) -> None:
    set_setting(home, "persona.instructions", "word " * 50)
    book = SettingsModel(home, load(home.settings_file))
    for setting in book.settings():
        assert row(setting, meant=False).cell_len <= 76, setting.key


def test_a_secret_is_not_shown(home: Home) -> None:
    set_setting(home, "llm.api_key", "sk-very-secret")
    setting = SettingsModel(home, load(home.settings_file)).setting("llm.api_key")

    assert "sk-very" not in row(setting, meant=True).plain + explained(setting).plain


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("general.sounds", ("true", "false")),
        ("audio.echo", ("cancel", "half-duplex", "off")),
        ("general.profile", ("tiny", "small", "default")),
        ("llm.threads", ()),
        ("persona.name", ()),
    ],
)
def test_what_a_setting_can_be(key: str, values: tuple[str, ...]) -> None:
    assert choices(key) == values


def test_values_in_words_and_as_they_are_typed() -> None:
    words = {"on": True, "off": False, "not set": None, "none": "", "0.5": 0.5}
    assert {value_text(value): value for value in words.values()} == words
    assert typed({"voice.mute": "m"}) == '{ "voice.mute" = "m" }'
    assert typed(None) == typed("") == ""


# -- changing -----------------------------------------------------------------------------------


async def test_a_switch_is_switched_by_enter_and_space(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "memory.enabled")
        await pilot.press("enter")
        await written(pilot, app)
        assert in_file(home, "memory.enabled") is False
        assert "restart needed" in shown(app)
        await pilot.press("space")
        await written(pilot, app, 2)

        assert in_file(home, "memory.enabled") is True
        assert "restart needed" not in shown(app).lower()


async def test_space_is_left_to_others_where_there_is_no_switch(home: Home) -> None:
    session = ToldSession()
    app = screen(session, home.root)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: app.query_one(SettingsPane).chosen() is not None)
        await pilot.press("space")
        await pilot.pause()

        assert session.done == ["mute"]


async def test_one_of_several_is_chosen(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "audio.echo")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseDialog))
        await pilot.press("j", "enter")
        await written(pilot, app)

        assert in_file(home, "audio.echo") == "half-duplex"
        assert app.changes[0].loaded.settings.audio.echo == "half-duplex"


async def test_a_choice_can_be_left(home: Home) -> None:
    async with opened(home) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseDialog))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ChooseDialog))

        assert not home.settings_file.exists()


async def test_a_text_is_typed_and_goes_back_to_its_default(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "wanted:turn.wake_phrase")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineDialog))
        await pilot.press(*"hey ada", "enter")
        await written(pilot, app)
        assert in_file(home, "turn.wake_phrase") == "hey ada"
        assert "hey ada" in shown(app)
        await pilot.press("delete")
        await written(pilot, app, 2)

        assert in_file(home, "turn.wake_phrase") == ""
        assert "wake_phrase" not in home.settings_file.read_text()


async def test_a_number_that_does_not_fit_is_told_and_not_written(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "tts.speed")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineDialog))
        app.screen.query_one(Input).value = "9"
        await pilot.press("enter")
        await until(pilot, lambda: len(app.troubles) == 1)

        assert "takes 2.0 or less, not '9'" in str(app.troubles[0])
        assert not home.settings_file.exists()


async def test_other_keys_for_the_screen_are_a_table_that_is_typed(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "screen.keys")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineDialog))
        app.screen.query_one(Input).value = '{ "voice.mute" = "m" }'
        await pilot.press("enter")
        await written(pilot, app)

        assert in_file(home, "screen.keys") == {"voice.mute": "m"}
        with pytest.raises(SettingsError, match="must be a table"):
            set_setting(home, "screen.keys", "m")


async def test_a_flag_outweighs_the_file_and_says_so(home: Home) -> None:
    async with opened(home, flags={"general.profile": "tiny"}) as (app, pilot):
        assert "It comes from a command-line flag" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.troubles) == 1)
        await pilot.press("delete")
        await until(pilot, lambda: len(app.troubles) == 2)

        assert "a command-line flag, which overrides" in str(app.troubles[0])
        assert not home.settings_file.exists()


async def test_so_does_the_environment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__ENABLED", "false")
    async with opened(home) as (app, pilot):
        go_to(app, "memory.enabled")
        await pilot.press("space")
        await until(pilot, lambda: len(app.troubles) == 1)

        assert "ASSISTANT_MEMORY__ENABLED" in str(app.troubles[0])


async def test_a_file_that_can_not_be_written_is_told(home: Home) -> None:
    home.settings_file.with_suffix(".new").mkdir()
    async with opened(home) as (app, pilot):
        go_to(app, "memory.enabled")
        await pilot.press("space")
        await until(pilot, lambda: len(app.troubles) == 1)

        assert "can't be written" in str(app.troubles[0])


# -- looking for one ----------------------------------------------------------------------------


async def test_words_narrow_the_list_and_letters_there_are_text(home: Home) -> None:
    async with opened(home) as (app, pilot):
        await pilot.press("slash", *"qq")
        await until(pilot, lambda: "No setting contains these words" in shown(app))
        await pilot.press("escape", "slash", *"bear")
        await until(pilot, lambda: "llm.api_key" in shown(app))
        assert "persona" not in shown(app)
        await pilot.press("enter")
        chosen = app.query_one(SettingsPane).chosen()
        assert chosen is not None
        assert chosen.key == "llm.api_key"
        await pilot.press("slash", "escape")
        await until(pilot, lambda: "llm.endpoint" in shown(app))
        await until(pilot, lambda: isinstance(app.focused, Listing))


# -- restart ------------------------------------------------------------------------------------


async def test_r_starts_the_assistant_anew_with_what_was_changed(home: Home) -> None:
    session = ToldSession()
    async with opened(home, session, size=(120, 40)) as (app, pilot):
        go_to(app, "wanted:general.sounds")
        await pilot.press("space")
        await written(pilot, app)
        assert "Restart needed for general.sounds: press r." in shown(app)
        await pilot.press("r")
        await written(pilot, app, 2)
        await until(pilot, lambda: "Restart needed" not in shown(app))

        assert [each.general.sounds for each in session.restarted] == [False]
        assert [each.restarted for each in app.changes] == [False, True]


async def test_it_is_not_started_anew_without_its_models(home: Home) -> None:
    session = ToldSession()
    async with opened(home, session, missing=lambda _: ["whisper-base"]) as (app, pilot):
        await pilot.press("r")
        await until(pilot, lambda: len(app.troubles) == 1)

        assert "Not on this machine yet: whisper-base." in str(app.troubles[0])
        assert session.restarted == []


async def test_a_start_that_fails_is_told_and_can_be_tried_again(home: Home) -> None:
    class Failing(ToldSession):
        async def restart(self, settings: Settings) -> None:
            await super().restart(settings)
            raise StoreError("The assistant can't be started.")

    session = Failing()
    async with opened(home, session) as (app, pilot):
        go_to(app, "wanted:general.sounds")
        await pilot.press("space")
        await written(pilot, app)
        await pilot.press("r")
        await until(pilot, lambda: len(app.troubles) == 1)
        await pilot.press("r")
        await until(pilot, lambda: len(app.troubles) == 2)

        assert len(session.restarted) == 2
        assert "Restart needed for general.sounds" in shown(app)


async def test_a_start_from_elsewhere_counts_too(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "wanted:general.sounds")
        await pilot.press("space")
        await written(pilot, app)
        assert "Restart needed" in shown(app)
        app.query_one(SettingsTab).runs(load(home.settings_file).settings)
        await pilot.pause()

        assert "Restart needed" not in shown(app)


def test_models_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "ASSISTANT_MODELS_CACHE", str(tmp_path))
    settings = Settings.model_validate({"general": {"profile": "tiny"}})

    assert "whisper-tiny.en" in missing_models(settings)


# -- what counts at once ------------------------------------------------------------------------


async def test_theme_and_keys_count_at_once_and_are_kept(tmp_path: Path) -> None:
    home = Home(tmp_path).create()
    set_setting(home, "screen.keys", '{ "voice.stop" = "m" }')
    session = ToldSession()
    app = screen(session, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4")
        pane = app.query_one(SettingsPane)
        await until(pilot, lambda: pane.chosen() is not None)
        pane.query_one(Listing).highlighted = pane.query_one(Listing).get_option_index(
            "wanted:screen.theme"
        )
        await pilot.press("m", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseDialog))
        await pilot.press("g", "j", "enter")
        await until(pilot, lambda: app.theme != "ansi-dark")

        assert session.done == ["stop"]
        assert in_file(home, "screen.theme") == app.theme == sorted(app.available_themes)[1]
        app.theme = "ansi-dark"  # as the theme's menu does
        await pilot.pause()
        assert in_file(home, "screen.theme") == "ansi-dark"


async def test_push_to_talk_counts_after_the_restart(tmp_path: Path) -> None:
    home = Home(tmp_path).create()
    session = ToldSession()
    app = screen(session, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        tab = app.query_one(SettingsTab)
        tab._missing = nothing_missing
        tab._book.write("audio.push_to_talk", "true")
        await pilot.press("4", "1", "space")
        assert session.done == ["mute"]
        await pilot.press("4", "r")
        await until(pilot, lambda: session.restarted)
        await pilot.press("1", "space")
        await pilot.pause()

        assert session.done == ["mute", "talk"]
        assert in_file(home, "audio.push_to_talk") is True
