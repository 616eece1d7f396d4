"""`assistant models …` as a user types it, and the downloads when the assistant starts."""

import contextlib
import io
import os
import pty
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from assistant.errors import ModelCorrupt, ModelMissing, ModelUnavailable
from assistant.settings import General, Llm, Settings, Stt
from models import catalogue
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection import profiles
from models.selection.machine_records import notes_in
from models.selection.profiles import SMALL, STRONG, TINY, Choice
from models.selection.requested import ModelSelection, wanted_models
from tests.support import small_models
from tests.support.command_line import Run, objects
from tests.support.hub_server import Hub, hub_server
from ui.commands import main, models

LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)
LLMS = (SMALL.llm, *STRONG)


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "models")


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Serves every model of the profiles `default` and `tiny` as one file that holds its name."""
    names = {*TINY.models, *SMALL.models, *STRONG}
    with hub_server({f"{name}/resolve/main/a": name.encode() for name in names}) as running:
        yield running


def store_of(names: Iterable[str], hub: Hub, folder: Path, patch: pytest.MonkeyPatch) -> ModelStore:
    """An empty store for these models, which the command and the start use on `LAPTOP`."""
    shipped = catalogue.read()
    tables = {
        name: small_models.table(
            role=shipped.get(name).role,
            engine=shipped.get(name).engine,
            title=shipped.get(name).title,
            files=small_models.entries({"a": name.encode()}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
        for name in names
    }
    store = ModelStore(
        folder / "cache",
        catalogue.parse(tables),
        prepare=lambda _: None,
        environment={**os.environ, "HF_ENDPOINT": hub.url},
    )

    def select_models(settings: Settings) -> ModelSelection:
        choice = profiles.choose_profile(settings.general.profile, LAPTOP, store)
        return ModelSelection(store, LAPTOP, choice)

    patch.setattr(models, "ModelStore", lambda *_: store)
    patch.setattr(models, "detect", lambda: LAPTOP)
    patch.setattr(models, "select_models", select_models)
    return store


@pytest.fixture
def store(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    return store_of(TINY.models, hub, tmp_path, monkeypatch)


# -- the command --------------------------------------------------------------------------------


def test_pulling_a_profile_names_the_server_and_a_model_can_be_removed(
    run: Run, store: ModelStore, hub: Hub
) -> None:
    code, out, _ = run("pull", "--profile", "tiny")
    assert code == 0
    host = hub.url.removeprefix("http://")
    assert {f"{name}: {len(name)} B from {host} in 0 s." for name in TINY.models} <= set(out)
    assert out[-1] == "Profile tiny. SmolLM2 135M Instruct, as the profile tiny specifies."
    assert store.missing(TINY.models) == []
    assert run("pull", TINY.stt)[1] == [f"{TINY.stt}: already here and intact."]
    code, [line], _ = run("remove", TINY.stt)
    assert (code, line.startswith(f"Removed {TINY.stt}; ")) == (0, True)
    assert store.missing(TINY.models) == [TINY.stt]


def test_pull_reports_source_and_bytes_in_json(run: Run, store: ModelStore, hub: Hub) -> None:
    [first], [second] = (objects(run("pull", TINY.stt, "--json")[1]) for _ in range(2))
    assert (first["event"], first["source"]) == ("pulled", hub.url.removeprefix("http://"))
    assert (first["bytes"], second["bytes"], second["source"]) == (len(TINY.stt), 0, None)


@pytest.mark.parametrize(
    ("line", "error", "sentence"),
    [
        (f"pull {TINY.stt}", ModelUnavailable, "could not be downloaded"),
        ("pull gpt-9", ModelMissing, "no model `gpt-9`"),
        ("verify", ModelMissing, "no models on this machine"),
    ],
)
def test_errors_give_their_exit_code_and_one_sentence(
    run: Run, store: ModelStore, hub: Hub, line: str, error: type[ModelMissing], sentence: str
) -> None:
    hub.files = {}
    code, _, err = run(*line.split())
    assert (code, sentence in err[0]) == (error.exit_code, True)


def test_list_shows_the_state_of_each_model(run: Run, store: ModelStore) -> None:
    run("pull", TINY.stt, TINY.tts)
    (store.cache / TINY.tts / "a").unlink()
    [encoder] = TINY.encoders
    (store.cache / ".partial" / encoder).mkdir()
    code, out, _ = run("list", "--profile", "tiny")
    rows = {line.split()[0]: line.rstrip() for line in out}
    assert code == 0
    assert "ready, from 127.0.0.1" in rows[TINY.stt]
    assert rows[TINY.llm].endswith("-")
    assert str(store.cache) in out[-1]
    assert {row["name"]: row["state"] for row in objects(run("list", "--json")[1])} == {
        TINY.stt: "ready",
        TINY.llm: "missing",
        TINY.tts: "corrupt",
        encoder: "partial",
    }


def test_verify_reports_intact_and_changed_files(run: Run, store: ModelStore) -> None:
    run("pull", "--profile", "tiny")
    code, out, _ = run("verify")
    assert code == 0
    assert {f"{name}: intact." for name in TINY.models} <= set(out)

    file = store.folder(TINY.stt) / "a"
    file.write_bytes(b"another content"[: file.stat().st_size])
    code, out, _ = run("verify")
    assert code == ModelCorrupt.exit_code
    expected = "a has a different SHA-256 from the catalogue's. To fix it: assistant models pull"
    assert expected in "\n".join(out)
    code, out, _ = run("verify", TINY.stt, "--json")
    [row] = objects(out)
    assert (code, row["ok"], row["mend"]) == (3, False, f"assistant models pull {TINY.stt}")


def read_all(terminal: int, into: list[bytes]) -> None:
    """Read until the other end is closed, which Linux reports as an error, macOS as end of file."""
    with contextlib.suppress(OSError):
        while block := os.read(terminal, 4096):
            into.append(block)


@pytest.mark.usefixtures("home", "store")
def test_pull_draws_a_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(master, shown))
    reader.start()
    with os.fdopen(slave, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        assert main.main(["models", "pull", TINY.stt]) == 0
    reader.join()
    os.close(master)
    text = b"".join(shown).decode()
    assert "\x1b[" in text
    assert f"{TINY.stt}: {len(TINY.stt)} B from 127.0.0.1" in text


# -- at the start -------------------------------------------------------------------------------


def pull_missing(settings: Settings) -> str:
    """Pull missing models as the start does; returns the printed text."""
    stream = io.StringIO()
    models.pull_missing(settings, stream)
    return stream.getvalue()


def test_a_start_downloads_missing_models_and_is_silent_if_none_is_missing(
    store: ModelStore, hub: Hub
) -> None:
    settings = Settings(general=General(profile="tiny"))
    assert "Profile tiny." in pull_missing(settings)
    assert store.missing(TINY.models) == []
    hub.requests.clear()
    assert (pull_missing(settings), hub.requests) == ("", [])


def test_a_start_downloads_nothing_for_folders_and_endpoints_of_the_user(store: ModelStore) -> None:
    settings = Settings(
        general=General(profile="tiny"),
        stt=Stt(model="/a/folder"),
        llm=Llm(endpoint="http://127.0.0.1:1/v1", model=TINY.llm),
    )
    pull_missing(settings)
    assert store.missing(TINY.models) == [TINY.stt, TINY.llm]


def test_both_encoders_of_a_profile_are_needed_but_only_one_if_the_settings_name_it(
    tmp_path: Path,
) -> None:
    store = ModelStore(tmp_path, catalogue.read())

    def wanted(profile: profiles.Profile, **memory: str) -> list[str]:
        selection = ModelSelection(store, LAPTOP, Choice(profile, "", (profile.llm,)))
        return wanted_models(Settings.model_validate({"memory": memory}), selection)

    assert wanted(TINY) == list(TINY.models)
    quick, stronger = wanted(SMALL)[-2:]
    assert (quick, stronger) == ("all-minilm-l6-v2", "all-mpnet-base-v2")
    assert stronger not in wanted(SMALL, encoder=quick)
    assert wanted(SMALL, encoder=str(tmp_path))[-1] != str(tmp_path)


# -- a language model that would suit the machine better ----------------------------------------


@pytest.fixture
def choosing(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """A store for the profile `default` in which only the smaller language model is present."""
    store = store_of([*SMALL.models, *STRONG], hub, tmp_path, monkeypatch)
    store.pull(SMALL.models)
    notes_in(store.cache).add(LAPTOP, stream_rate=30e9)
    monkeypatch.setattr(profiles, "stream_rate", lambda _: 30e9)
    hub.requests.clear()
    return store


def test_a_start_downloads_the_more_suitable_language_model(choosing: ModelStore) -> None:
    pull_missing(Settings())
    assert choosing.missing(LLMS) == [STRONG[1]]


@pytest.mark.usefixtures("choosing")
def test_a_start_without_a_network_continues_and_retries_once_a_day(hub: Hub) -> None:
    hub.files = {}
    assert f"Continuing with {SMALL.llm}." in pull_missing(Settings())
    asked = len(hub.requests)
    assert asked > 0
    assert (pull_missing(Settings()), len(hub.requests)) == ("", asked)


@pytest.mark.usefixtures("choosing")
def test_a_model_that_the_settings_name_is_never_replaced(hub: Hub) -> None:
    pull_missing(Settings(llm=Llm(model=SMALL.llm)))
    assert hub.requests == []


def test_any_other_missing_model_still_ends_the_start(choosing: ModelStore, hub: Hub) -> None:
    choosing.remove(SMALL.stt)
    hub.files = {}
    with pytest.raises(ModelUnavailable):
        pull_missing(Settings())
