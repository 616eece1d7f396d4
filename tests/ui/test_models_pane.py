"""The models pane of the settings tab, driven by keys, with a real cache and a hub on loopback."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from assistant.events import ModelsReady
from assistant.paths import Home
from assistant.settings import load
from models import catalogue
from models.download.cache import ModelState, ModelStore
from models.download.sources import DownloadProgress, Transfer
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import AT, ToldSession
from ui.screen.settings.model_jobs import ModelTask, ModelTasks
from ui.screen.settings.models_pane import ModelsPane, progress
from ui.screen.settings.tab import SettingsTab
from ui.screen.widgets.dialogs import Confirm
from ui.session.state import ScreenState as Folded
from ui.session.state import fold

ROLES = {
    "small-voice": ("tts", "piper"),
    "small-whisper": ("stt", "faster-whisper"),
    "small-thinker": ("llm", "llama.cpp"),
    "small-encoder": ("encoder", "onnx"),
}
BYTES = b"x" * 3_000_000


def nothing(_transfer: Transfer) -> None:
    """A preparation that does nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server({f"{name}/resolve/main/a": BYTES for name in ROLES}) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> ModelStore:
    tables = {
        name: small_models.table(
            role=role,
            engine=engine,
            tried=name != "small-whisper",
            files=small_models.entries({"a": BYTES}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
        for name, (role, engine) in ROLES.items()
    }
    return ModelStore(
        tmp_path / "cache",
        catalogue.parse(tables),
        prepare=nothing,
        environment={**os.environ, "HF_ENDPOINT": hub.url},
    )


@asynccontextmanager
async def opened(
    home: Home, store: ModelStore, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[PaneApp, Pilot[None]]]:
    """A pane with the cursor on the speech recognition model, which comes first."""
    tab = SettingsTab(
        ToldSession(),
        home,
        load(home.settings_file),
        store=lambda: store,
        reason=lambda _: "Small Thinker: this machine is small.",
    )
    app = PaneApp(tab)
    async with app.run_test(size=size) as pilot:
        tab.open("models")
        await until(pilot, lambda: app.query_one(ModelsPane).chosen() is not None)
        yield app, pilot


def line(app: PaneApp, name: str) -> str:
    return next(each for each in shown(app).splitlines() if each.startswith(f"   {name}"))


async def test_models_are_grouped_by_role_with_size_state_and_use(
    home: Home, store: ModelStore
) -> None:
    store.pull(["small-voice", "small-encoder"])
    (store.cache / "small-encoder" / "a").write_bytes(b"short")
    (store.cache / ".partial" / "small-whisper").mkdir(parents=True)
    state = Folded()
    fold(state, ModelsReady({"tts": "small-voice"}), AT)
    async with opened(home, store) as (app, pilot):
        rows = [each.split() for each in shown(app).splitlines() if each.strip()]
        assert ["small-whisper", "3.0", "MB", "partial"] in rows
        assert ["small-voice", "3.0", "MB", "here"] in rows
        assert ["small-encoder", "3.0", "MB", "damaged"] in rows
        assert rows.index(["Hearing", "speech", "to", "text"]) < rows.index(["Speaking", "voice"])
        app.query_one(ModelsPane).show(state)
        await pilot.pause()
        assert "in use" in line(app, "small-voice")
        assert "in use" not in line(app, "small-whisper")
        assert "this machine is small" not in shown(app)
        assert "not tried" in shown(app)
        await pilot.press("down")
        await until(pilot, lambda: "uses Small Thinker: this machine is small." in shown(app))
        assert "not tried" not in shown(app)
        await pilot.press("G", "enter")  # the profile chooses the encoder
        await pilot.pause(0.1)
        assert app.changes == []
        assert not home.settings_file.exists()


async def test_an_encoder_named_in_the_settings_is_marked_as_chosen(
    home: Home, store: ModelStore
) -> None:
    async with opened(home, store) as (app, _):
        assert "chosen by the profile, or by memory.encoder" in shown(app)
        assert "chosen" not in line(app, "small-encoder")
    home.settings_file.write_text('[memory]\nencoder = "small-encoder"\n')
    async with opened(home, store) as (app, _):
        assert "chosen" in line(app, "small-encoder")


async def test_d_downloads_a_model_and_enter_chooses_it(home: Home, store: ModelStore) -> None:
    async with opened(home, store) as (app, pilot):
        assert "missing" in line(app, "small-whisper")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.troubles) == 1)
        assert "not on this machine yet" in str(app.troubles[0])
        await pilot.press("d")
        await until(pilot, lambda: app.told == ["small-whisper has been downloaded."])
        await until(pilot, lambda: "here" in line(app, "small-whisper"))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.changes) == 1)
        assert load(home.settings_file).settings.stt.model == "small-whisper"
        assert "chosen" in line(app, "small-whisper")
        assert store.state("small-whisper") is ModelState.READY


async def test_a_download_shows_its_progress_and_can_be_stopped(
    home: Home, store: ModelStore, hub: Hub
) -> None:
    hub.hang_at = 2_500_000
    async with opened(home, store) as (app, pilot):
        await pilot.press("d")
        await until(pilot, lambda: "of 3.0 MB" in line(app, "small-whisper"))
        assert "█" in line(app, "small-whisper")
        await pilot.press("c")
        hub.release.set()
        await until(pilot, lambda: any("stopped" in each for each in app.told))
        assert app.troubles == []
        assert store.state("small-whisper") is ModelState.PARTIAL


async def test_a_failed_download_says_why(home: Home, store: ModelStore, hub: Hub) -> None:
    def broken(_: Transfer) -> None:
        raise ZeroDivisionError

    store.prepare = broken
    async with opened(home, store) as (app, pilot):
        await pilot.press("d")
        await until(pilot, lambda: len(app.troubles) == 1)
        assert "ZeroDivisionError" in str(app.troubles[0])  # an unexpected error
        hub.files = {}
        await pilot.press("down", "d")
        await until(pilot, lambda: len(app.troubles) == 2)
        assert "could not be downloaded" in str(app.troubles[1])


async def test_v_checks_every_byte(home: Home, store: ModelStore) -> None:
    store.pull(["small-whisper"])
    async with opened(home, store) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: any("every byte" in each for each in app.told))
        (store.cache / "small-whisper" / "a").write_bytes(b"y" + BYTES[1:])
        await pilot.press("v")
        await until(pilot, lambda: len(app.troubles) == 1)
        assert "different SHA-256" in str(app.troubles[0])


async def test_removing_a_model_asks_first_with_the_focus_on_cancel(
    home: Home, store: ModelStore
) -> None:
    store.pull(["small-whisper"])
    async with opened(home, store) as (app, pilot):
        for key in ("enter", "y"):
            assert store.state("small-whisper") is ModelState.READY
            await pilot.press("delete")
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, Confirm))
        await until(pilot, lambda: "missing" in line(app, "small-whisper"))
        assert app.told == ["Removed small-whisper; 3.0 MB freed."]
        await pilot.press("delete", "y")
        await until(pilot, lambda: len(app.troubles) == 1)
        assert "is not on this machine" in str(app.troubles[0])


def test_progress_shows_megabytes_and_the_remaining_time() -> None:
    job = ModelTask("small", "download")
    assert progress(job, 0.0).plain == "starting"
    job.step = DownloadProgress("small", "waiting", 0, 0)
    assert progress(job, 0.0).plain == "waiting"
    job.downloading_since = (10.0, 1_000_000)
    job.step = DownloadProgress("small", "downloading", 2_000_000, 4_000_000)
    assert progress(job, 15.0).plain == "████████░░░░░░░░ 2.0 MB of 4.0 MB, 10 s left"
    job.step = DownloadProgress("small", "downloading", 2_000_000, 602_000_000)
    assert progress(job, 11.0).plain.endswith("602.0 MB, 10 min left")
    job.step = DownloadProgress("small", "verifying", 4, 4)
    assert progress(job, 15.0).plain == "█" * 16 + " checking"


def test_a_model_has_only_one_task_at_a_time(home: Home, store: ModelStore, hub: Hub) -> None:
    hub.hang_at = 1_000
    work = ModelTasks(lambda: store, home)
    work.begin("small-voice", "download")
    job = work.jobs["small-voice"]
    work.begin("small-voice", "check")
    assert work.jobs["small-voice"] is job
    assert work.busy
    work.stop("small-voice")
    hub.release.set()
    while not job.over:
        pass
    assert job.stopped
