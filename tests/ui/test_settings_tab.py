"""The settings tab, driven by keys, on a real settings file."""

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
from tests.support.screens import ToldSession
from tests.support.screens import opened as screen_opened
from ui.screen.settings.model import MOST_WANTED, SettingsModel, choices, typed
from ui.screen.settings.model import shown as value_text
from ui.screen.settings.settings_pane import SettingsPane, explained, row
from ui.screen.settings.tab import SettingsTab, missing_models
from ui.screen.widgets.dialogs import ChooseDialog, LineDialog
from ui.screen.widgets.lists import Listing
from ui.session.settings_file import set_setting


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
) -> AsyncIterator[tuple[PaneApp, Pilot[None]]]:
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


async def entered(pilot: Pilot[None], app: PaneApp, key: str, value: str) -> None:
    """Type a value for this setting."""
    go_to(app, key)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, LineDialog))
    app.screen.query_one(Input).value = value
    await pilot.press("enter")


def in_file(home: Home, key: str) -> object:
    section, _, name = key.partition(".")
    return getattr(getattr(load(home.settings_file).settings, section), name)


async def written(pilot: Pilot[None], app: PaneApp, times: int = 1) -> None:
    await until(pilot, lambda: len(app.changes) == times)


async def told(pilot: Pilot[None], app: PaneApp, *sentences: str) -> None:
    """Wait for errors that contain these texts, in this order."""
    await until(pilot, lambda: len(app.troubles) == len(sentences))
    for sentence, error in zip(sentences, app.troubles, strict=True):
        assert sentence in str(error)


# -- what is shown ------------------------------------------------------------------------------


async def test_the_most_wanted_settings_come_first_and_all_are_listed_and_explained(
    home: Home,
) -> None:
    set_setting(home, "turn.hint_s", "0.5")
    async with opened(home, size=(120, 40)) as (app, pilot):
        listing = app.query_one(SettingsPane).query_one(Listing)
        ids = [option.id for option in listing.options if option.id is not None]
        assert ids[: len(MOST_WANTED)] == [f"wanted:{key}" for key in MOST_WANTED]
        assert set(ids[len(MOST_WANTED) :]) == set(load(home.settings_file).sources)
        assert "persona.name" in shown(app)
        assert "The assistant's name." in shown(app)
        go_to(app, "turn.hint_s")
        await pilot.pause()
        assert "turn.hint_s = 0.5   default: 0.032" in shown(app)
        assert "Seconds of silence after which your words" in shown(app)


def test_each_row_fits_a_narrow_terminal_and_shows_no_secret(home: Home) -> None:
    set_setting(home, "persona.instructions", "word " * 50)
    set_setting(home, "llm.api_key", "sk-very-secret")
    for setting in SettingsModel(home, load(home.settings_file)).settings():
        assert row(setting, meant=False).cell_len <= 76, setting.key
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
def test_choices_lists_the_allowed_values_of_a_setting(key: str, values: tuple[str, ...]) -> None:
    assert choices(key) == values


def test_values_are_shown_in_words_and_edited_as_text() -> None:
    words = {"on": True, "off": False, "not set": None, "none": "", "0.5": 0.5}
    assert {value_text(value): value for value in words.values()} == words
    assert typed({"voice.mute": "m"}) == '{ "voice.mute" = "m" }'
    assert typed(None) == typed("") == ""


# -- changing -----------------------------------------------------------------------------------


async def test_enter_and_space_toggle_a_setting(home: Home) -> None:
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


async def test_choosing_a_value_can_be_cancelled_or_confirmed(home: Home) -> None:
    async with opened(home) as (app, pilot):
        go_to(app, "audio.echo")
        for key in ("escape", "enter"):
            assert not home.settings_file.exists()
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ChooseDialog))
            await pilot.press("j", key)
            await until(pilot, lambda: not isinstance(app.screen, ChooseDialog))
        await written(pilot, app)
        assert in_file(home, "audio.echo") == "half-duplex"
        assert app.changes[0].loaded.settings.audio.echo == "half-duplex"


async def test_texts_and_tables_can_be_typed_and_reset_to_their_default(home: Home) -> None:
    async with opened(home) as (app, pilot):
        await entered(pilot, app, "wanted:turn.wake_phrase", "hey ada")
        await written(pilot, app)
        assert in_file(home, "turn.wake_phrase") == "hey ada"
        assert "hey ada" in shown(app)
        await pilot.press("delete")
        await written(pilot, app, 2)
        assert in_file(home, "turn.wake_phrase") == ""
        assert "wake_phrase" not in home.settings_file.read_text()
        await entered(pilot, app, "screen.keys", '{ "voice.mute" = "m" }')
        await written(pilot, app, 3)
        assert in_file(home, "screen.keys") == {"voice.mute": "m"}
    with pytest.raises(SettingsError, match="must be a table"):
        set_setting(home, "screen.keys", "m")


async def test_invalid_values_and_write_errors_are_reported(home: Home) -> None:
    async with opened(home) as (app, pilot):
        await entered(pilot, app, "tts.speed", "9")
        await told(pilot, app, "takes 2.0 or less, not '9'")
        assert not home.settings_file.exists()
        home.settings_file.with_suffix(".new").mkdir()
        go_to(app, "memory.enabled")
        await pilot.press("space")
        await told(pilot, app, "takes 2.0 or less", "can't be written")


async def test_the_tab_says_if_a_flag_or_the_environment_overrides_the_file(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__ENABLED", "false")
    async with opened(home, flags={"general.profile": "tiny"}) as (app, pilot):
        assert "It comes from a command-line flag" in shown(app)
        await pilot.press("enter", "delete")
        sentence = "a command-line flag, which overrides"
        await told(pilot, app, sentence, sentence)
        go_to(app, "memory.enabled")
        await pilot.press("space")
        await told(pilot, app, sentence, sentence, "ASSISTANT_MEMORY__ENABLED")
        assert not home.settings_file.exists()


# -- searching ----------------------------------------------------------------------------------


async def test_words_filter_the_list_and_letters_typed_there_are_text(home: Home) -> None:
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
        chosen = app.query_one(SettingsPane).chosen()
        assert chosen is not None
        assert chosen.key == "llm.api_key"


# -- restart ------------------------------------------------------------------------------------


async def test_r_restarts_the_assistant_with_the_changed_settings(home: Home) -> None:
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
        await pilot.press("space")
        await until(pilot, lambda: "Restart needed" in shown(app))
        app.query_one(SettingsTab).runs(load(home.settings_file).settings)  # started elsewhere
        await until(pilot, lambda: "Restart needed" not in shown(app))


async def test_the_assistant_is_not_restarted_if_a_model_is_missing(home: Home) -> None:
    session = ToldSession()
    async with opened(home, session, missing=lambda _: ["whisper-base"]) as (app, pilot):
        await pilot.press("r")
        await told(pilot, app, "Not on this machine yet: whisper-base.")
        assert session.restarted == []


async def test_a_failed_restart_is_reported_and_can_be_retried(home: Home) -> None:
    class Failing(ToldSession):
        async def restart(self, settings: Settings) -> None:
            await super().restart(settings)
            raise StoreError("The assistant can't be started.")

    session = Failing()
    async with opened(home, session) as (app, pilot):
        go_to(app, "wanted:general.sounds")
        await pilot.press("space")
        await written(pilot, app)
        for times in (1, 2):
            await pilot.press("r")
            await told(pilot, app, *["The assistant can't be started."] * times)
        assert len(session.restarted) == 2
        assert "Restart needed for general.sounds" in shown(app)


def test_missing_models_of_the_profile_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "ASSISTANT_MODELS_CACHE", str(tmp_path))
    settings = Settings.model_validate({"general": {"profile": "tiny"}})
    assert "whisper-tiny.en" in missing_models(settings)


# -- what applies at once -----------------------------------------------------------------------


async def test_theme_and_keys_apply_at_once_and_push_to_talk_after_a_restart(home: Home) -> None:
    set_setting(home, "screen.keys", '{ "voice.stop" = "m" }')
    session = ToldSession()
    async with screen_opened(session, home.root, (80, 24)) as (app, pilot):
        tab = app.query_one(SettingsTab)
        tab._missing = nothing_missing
        await pilot.press("4")
        pane = app.query_one(SettingsPane)
        await until(pilot, lambda: pane.chosen() is not None)
        await pilot.press("space")  # not on a toggle, so the key has its usual meaning
        await until(pilot, lambda: session.done == ["mute"])
        listing = pane.query_one(Listing)
        listing.highlighted = listing.get_option_index("wanted:screen.theme")
        await pilot.press("m", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseDialog))
        await pilot.press("g", "j", "enter")
        await until(pilot, lambda: app.theme != "ansi-dark")
        assert session.done == ["mute", "stop"]
        assert in_file(home, "screen.theme") == app.theme == sorted(app.available_themes)[1]
        app.theme = "ansi-dark"  # as the theme's menu does
        await pilot.pause()
        assert in_file(home, "screen.theme") == "ansi-dark"
        tab._settings.write("audio.push_to_talk", "true")
        await pilot.press("1", "space", "4", "r")
        await until(pilot, lambda: session.restarted)
        await pilot.press("1", "space")
        await until(pilot, lambda: session.done == ["mute", "stop", "mute", "talk"])
        assert in_file(home, "screen.theme") == "ansi-dark"
