"""The steps on the screen before the first conversation, and the restart after an end."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Button, Input

from assistant.compose import SessionPlan
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.vault import Vault
from assistant.errors import AudioError, ModelMissing, ModelUnavailable, StoreError
from assistant.events import Latency as NoLatency
from assistant.events import ModelsReady, Phase, PhaseChanged, TurnEnded, TurnHeard
from assistant.paths import Home
from assistant.settings import Settings, load
from models.download.sources import DownloadProgress, PullStopped, Report
from tests.support.fake_sound import BUILT_IN, HEADSET, FakeSound
from tests.support.pilots import shown, until
from tests.support.screens import ToldSession, screen
from ui.screen.app import AssistantScreen
from ui.screen.first_run.first_run import FirstRun, is_new
from ui.screen.first_run.microphone_step import NOISE_LEVELS, Judgement, MicrophoneStep
from ui.screen.first_run.models_step import ModelsStep, time_text
from ui.screen.safe_app import SafeApp
from ui.screen.unlock_dialog import RecoveryStep, SecretDialog, Unlocking
from ui.session.assistant_process import AssistantProcess
from ui.session.model_downloads import Needed, Progress

THINKING = Needed("a-model", "thinking", 1000)
RECOVERY = "-".join(["ABCD"] * 14)


class ToldModels:
    """Stands in for the model cache: says which models are missing, and how the download goes."""

    def __init__(self, *missing: Needed) -> None:
        self.missing = list(missing)
        self.fails: list[Exception] = []
        self.waits = False
        self.pulls = 0

    def needed(self, settings: Settings) -> list[Needed]:
        return list(self.missing)

    def bring(self, settings: Settings, report: Report, stop: threading.Event) -> None:
        self.pulls += 1
        report(DownloadProgress("a-model", "downloading", 500, 1000, "a hub"))
        if self.waits:
            assert stop.wait(10)
            raise PullStopped("It was stopped.")
        if self.fails:
            raise self.fails.pop()
        self.missing.clear()


@asynccontextmanager
async def opened(
    folder: Path,
    models: ToldModels,
    *,
    new: bool = True,
    sound: FakeSound | None = None,
    microphone: str | None = None,
) -> AsyncIterator[tuple[AssistantScreen, Pilot[int], ToldSession]]:
    home = Home(folder)
    session = ToldSession((PhaseChanged(Phase.STARTING),))
    guide = FirstRun(
        home,
        new=new,
        listens=sound is not None,
        sound=sound,
        needed=models.needed,
        bring=models.bring,
    )
    flags = {"audio.input_device": microphone} if microphone else {}
    settings = load(home.settings_file, environment={}, flags=flags)
    app = AssistantScreen(session, home, settings, None, guide)
    async with app.run_test(size=(100, 30)) as pilot:
        yield app, pilot, session


@asynccontextmanager
async def with_headset(
    folder: Path, sound: FakeSound
) -> AsyncIterator[tuple[AssistantScreen, Pilot[int], ToldSession]]:
    """The step for the microphone, which listens to the headset that the settings name."""
    async with opened(folder, ToldModels(), sound=sound, microphone="Headset") as shown_step:
        app, pilot, _ = shown_step
        await until(pilot, lambda: on(app, MicrophoneStep) and sound.listened == ["Headset"])
        yield shown_step


def on(app: App[int], step: type[object]) -> bool:
    return isinstance(app.screen, step) and bool(app.screen.query(Button))


async def test_a_new_user_is_led_from_the_microphone_to_the_first_exchange(tmp_path: Path) -> None:
    sound, models = FakeSound(BUILT_IN, HEADSET), ToldModels(THINKING)
    sound.level_dbfs = -60.0
    sound.opens.clear()
    async with opened(tmp_path, models, sound=sound) as (app, pilot, session):
        await until(pilot, lambda: on(app, MicrophoneStep) and sound.listened == ["Built-in"])
        await pilot.pause()
        assert "Say something" not in shown(app)
        sound.opens.set()
        await until(pilot, lambda: "Say something" in shown(app))
        await until(pilot, lambda: sound.levels_given > NOISE_LEVELS)
        sound.level_dbfs = -20.0
        await until(pilot, lambda: "I hear you." in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: on(app, ModelsStep))
        assert sound.left == sound.listened == ["Built-in"]
        assert "thinking    a-model" in shown(app)
        assert not session.begun
        await pilot.press("enter")
        await until(pilot, lambda: session.begun)
        session.tell(ModelsReady({"llm": "a-model"}), PhaseChanged(Phase.LISTENING))
        await until(pilot, lambda: "Say hello" in shown(app))
        session.tell(TurnHeard(1, "Hello."), TurnEnded(1, "Hello.", "Hi.", False, NoLatency()))
        await until(pilot, lambda: "Say hello" not in shown(app))
    assert models.pulls == 1


async def test_choosing_another_microphone_saves_and_uses_it(tmp_path: Path) -> None:
    sound = FakeSound(BUILT_IN, HEADSET)
    async with opened(tmp_path, ToldModels(), sound=sound) as (app, pilot, session):
        await until(pilot, lambda: on(app, MicrophoneStep) and "Headset" in shown(app))
        app.screen.query_one("OptionList").focus()
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: sound.listened == ["Built-in", "Headset"])
        await pilot.press("enter")
        await until(pilot, lambda: session.begun)
    assert session.restarted[-1].audio.input_device == "Headset"
    assert load(tmp_path / "settings.toml").settings.audio.input_device == "Headset"


async def test_the_systems_default_can_be_chosen_although_the_settings_name_a_microphone(
    tmp_path: Path,
) -> None:
    sound = FakeSound(BUILT_IN, HEADSET)
    async with with_headset(tmp_path, sound) as (app, pilot, session):
        app.screen.query_one("OptionList").focus()
        await pilot.press("home", "enter")
        await until(pilot, lambda: sound.listened == ["Headset", "Built-in"])
        await pilot.press("enter")
        await until(pilot, lambda: session.begun)
    assert session.restarted[-1].audio.input_device is None


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_the_microphone_in_the_settings_is_kept_unless_another_is_chosen(
    tmp_path: Path, key: str
) -> None:
    sound = FakeSound(BUILT_IN, HEADSET)
    async with with_headset(tmp_path, sound) as (_, pilot, session):
        await pilot.press(key)
        await until(pilot, lambda: session.begun)
    assert session.restarted[-1].audio.input_device == "Headset"
    assert not (tmp_path / "settings.toml").exists()


async def test_a_failing_microphone_is_reported_and_can_be_skipped(tmp_path: Path) -> None:
    sound = FakeSound(BUILT_IN)
    sound.broken = AudioError("It is taken.", mend="Close the other program.")
    async with opened(tmp_path, ToldModels(), sound=sound) as (app, pilot, session):
        await until(pilot, lambda: "! It is taken. → Close the other program." in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: session.begun)
    assert session.restarted[-1].audio.input_device is None


async def test_a_microphone_plugged_in_later_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.screen.first_run.microphone_step.RETRY_S", 0.01)
    sound = FakeSound()
    async with opened(tmp_path, ToldModels(), sound=sound) as (app, pilot, _):
        await until(pilot, lambda: "! No microphone was found." in shown(app))
        sound.there.append(HEADSET)
        await until(pilot, lambda: "Microphone: Headset" in shown(app))
        assert "Say something." in shown(app)


async def test_a_failed_download_says_why_and_can_be_retried(tmp_path: Path) -> None:
    models = ToldModels(THINKING)
    models.fails = [ModelUnavailable("No route to the hub.", mend="Check the network.")]
    async with opened(tmp_path, models, new=False) as (app, pilot, _):
        await until(pilot, lambda: on(app, ModelsStep))
        await pilot.press("enter")
        await until(pilot, lambda: "! No route to the hub. → Check the network." in shown(app))
        assert "Try again" in shown(app)
        await until(pilot, lambda: not app.screen.query(".-active"))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
    assert models.pulls == 2


async def test_a_download_can_be_stopped_and_resumed_later(tmp_path: Path) -> None:
    models = ToldModels(THINKING)
    models.waits = True
    async with opened(tmp_path, models) as (app, pilot, session):
        await until(pilot, lambda: on(app, ModelsStep))
        await pilot.press("enter")
        await until(pilot, lambda: "50%  500 B of 1.0 kB" in shown(app))
        assert "a-model: downloading from a hub" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: "What was downloaded is kept" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.state.phase is Phase.STOPPED)
        await until(pilot, lambda: "needs models that are missing" in shown(app))
        assert not session.begun
        models.waits = False
        await pilot.press("ctrl+r")
        await until(pilot, lambda: on(app, ModelsStep))
        await pilot.press("enter")
        await until(pilot, lambda: session.begun)
        await until(pilot, lambda: "needs models" not in shown(app))


async def test_a_used_home_with_its_models_needs_no_steps(tmp_path: Path) -> None:
    models, sound = ToldModels(), FakeSound(BUILT_IN)
    async with opened(tmp_path, models, new=False, sound=sound) as (app, pilot, session):
        await until(pilot, lambda: session.begun)
        await pilot.pause(0.1)
        assert len(app.screen_stack) == 1
        assert "Say hello" not in shown(app)


async def test_an_ended_assistant_can_be_restarted_and_typed_text_is_kept(tmp_path: Path) -> None:
    class Stopped(ToldSession):
        def say(self, text: str) -> None:
            raise StoreError("The assistant is not running, so your text was not sent.")

    session = Stopped((PhaseChanged(Phase.LISTENING),))
    app = screen(session, tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.state.phase is Phase.LISTENING)
        await pilot.press("ctrl+r")
        assert session.restarted == []
        await pilot.press("i", *"draft")
        app.ended(ModelMissing("The model X is gone.", mend="assistant models pull x"))
        mend = "The model X is gone. → assistant models pull x · ctrl+r restarts"
        await until(pilot, lambda: "stopped" in shown(app) and mend in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "your text was not sent" in shown(app))
        assert app.query_one("#typed", Input).value == "draft"
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(session.restarted) == 1)
        await until(pilot, lambda: "model X is gone" not in shown(app))
        assert app.query_one("#typed", Input).value == "draft"
        assert app.error is None


@pytest.mark.parametrize(
    ("key", "unseen"), [("enter", RECOVERY), ("escape", RECOVERY), ("w", None)]
)
async def test_a_recovery_key_counts_as_unseen_until_its_user_has_written_it_down(
    key: str, unseen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path).create()
    vault = Vault(None, HomeLock(home, alone=False), recovery=RECOVERY)
    monkeypatch.setattr("assistant.encryption.vault.open_vault", lambda *_, **__: vault)
    unlocking = Unlocking(home, Settings())
    app = unlocking.app = SafeApp()
    async with app.run_test() as pilot:
        assert await app.run_worker(unlocking()).wait() is vault
        await until(pilot, lambda: on(app, RecoveryStep) and RECOVERY[:34] in shown(app))
        assert unlocking.unseen == RECOVERY
        if key == "w":
            app.screen.query_one("#written", Button).press()
        else:
            await pilot.press(key)
        await until(pilot, lambda: len(app.screen_stack) == 1)
    vault.close()
    assert unlocking.unseen == unseen


async def test_a_passphrase_is_asked_for_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path).create()
    given: list[str | None] = []

    def open_vault(*arguments: Any, **_: object) -> Vault:
        given.append(arguments[2]("passphrase"))
        return Vault(None, HomeLock(home, alone=False))

    monkeypatch.setattr("assistant.encryption.vault.open_vault", open_vault)
    unlocking = Unlocking(home, Settings())
    app = unlocking.app = SafeApp()
    async with app.run_test() as pilot:
        opening = app.run_worker(unlocking())
        await until(pilot, lambda: isinstance(app.screen, SecretDialog) and app.screen.query(Input))
        await pilot.press(*"sesame")
        assert "sesame" not in shown(app)
        await pilot.press("enter")
        (await opening.wait()).close()
    assert given == ["sesame"]


async def test_the_screen_says_if_the_terminal_is_too_small(tmp_path: Path) -> None:
    session = ToldSession((PhaseChanged(Phase.LISTENING),))
    app = screen(session, tmp_path)
    async with app.run_test(size=(45, 12)) as pilot:
        await until(pilot, lambda: "listening" in shown(app))
        assert "This terminal is 45×12; the screen needs" in shown(app)
        assert "Conversation" not in shown(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "Conversation" in shown(app))


def test_a_home_is_new_until_a_file_is_stored_there(tmp_path: Path) -> None:
    home = Home(tmp_path).create()
    assert is_new(home)
    home.settings_file.write_text("")
    assert not is_new(home)


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ([-60.0] * 6 + [-20.0] * 4, "heard"),
        ([-60.0] * 6 + [-20.0] * 2 + [-60.0] * 20, "waiting"),
        ([-30.0] * 40, "waiting"),
        ([-90.0] * 25, "silent"),
        ([-70.0] * 40, "waiting"),
    ],
    ids=["speech", "a click", "a noisy room", "dead", "a quiet room"],
)
def test_a_microphone_is_judged_by_sound_above_the_rooms_noise(
    levels: list[float], verdict: str
) -> None:
    judgement = Judgement()
    assert [judgement.hear(level) for level in levels][-1] == verdict


def test_progress_tells_how_long_the_downloads_will_take() -> None:
    progress = Progress([THINKING, Needed("b", "hearing", 3000)])
    assert (progress.done, progress.total, progress.left_s) == (0, 4000, None)
    progress.see(DownloadProgress("a-model", "downloading", 0, 1000), 10.0)
    progress.see(DownloadProgress("a-model", "downloading", 500, 1000), 11.0)
    assert (progress.done, progress.rate, progress.left_s) == (500, 500.0, 7.0)
    progress.see(DownloadProgress("b", "downloading", 0, 6000), 12.0)
    assert progress.done == 1000
    progress.see(DownloadProgress("b", "downloading", 6000, 6000), 14.0)
    assert (progress.done, progress.left_s) == (4000, 0.0)
    assert [time_text(s) for s in (8, 200, 7200)] == ["8 s", "3 min", "2.0 h"]


def test_a_session_refuses_typed_words_while_no_assistant_runs(tmp_path: Path) -> None:
    home = Home(tmp_path).create()
    unlocking = Unlocking(home, Settings())
    live = AssistantProcess(home, Settings(), unlocking, SessionPlan())
    with pytest.raises(StoreError, match="is not running"):
        live.say("Hello.")
    live.release()
