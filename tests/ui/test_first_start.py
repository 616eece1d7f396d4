"""`assistant models list` and the first start with a hub, on three kinds of hardware."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from assistant.paths import Home
from assistant.settings import General, Settings
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection import profiles
from models.selection.requested import ModelSelection
from tests.support.command_line import Run, objects
from tests.support.hub_server import Hub, hub_server
from tests.support.small_store import SHIPPED, SHRUNK_FILES, shrunk_store
from ui.commands import models


@dataclass(frozen=True)
class Kind:
    """A kind of machine: what it gets, and the untried model that is named."""

    hardware: Hardware
    chosen: str
    named: str


KINDS = {
    "8 GB without a GPU": Kind(
        Hardware(8 << 30, 4, apple_silicon=False), "qwen2.5-1.5b-instruct", "qwen3.5-2b"
    ),
    "16 GB Apple": Kind(
        Hardware(16 << 30, 8, apple_silicon=True),
        "qwen2.5-1.5b-instruct-mlx",
        "qwen3-4b-instruct-2507-mlx",
    ),
    "32 GB with many cores": Kind(
        Hardware(32 << 30, 16, apple_silicon=False), "qwen2.5-1.5b-instruct", "qwen3.5-4b"
    ),
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(SHRUNK_FILES) as running:
        yield running


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    machine: Kind = request.param
    return machine


@pytest.fixture
def store(kind: Kind, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """An empty store for the whole catalogue, which the command and the start use on this kind of
    machine."""
    store = shrunk_store(tmp_path / "cache", hub.url)
    choose_profile = partial(profiles.choose_profile, probe=lambda _threads: 60e9)

    def select_models(settings: Settings) -> ModelSelection:
        choice = choose_profile(settings.general.profile, kind.hardware, store)
        return ModelSelection(store, kind.hardware, choice)

    monkeypatch.setattr(models, "choose_profile", choose_profile)
    monkeypatch.setattr(models, "ModelStore", lambda *_: store)
    monkeypatch.setattr(models, "detect", lambda: kind.hardware)
    monkeypatch.setattr(models, "select_models", select_models)
    return store


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "models")


@pytest.mark.usefixtures("store")
def test_the_list_marks_untried_models_and_names_the_best_for_the_machine(
    run: Run, kind: Kind
) -> None:
    code, out, _ = run("list")
    untried = {line.split()[0] for line in out if line.rstrip().endswith("not tried yet")}
    rows = objects(run("list", "--json")[1])

    assert code == 0
    assert untried == {name for name, model in SHIPPED.models.items() if not model.tried}
    assert {row["name"] for row in rows if not row["tried"]} == untried
    assert '"Not tried yet": nobody has run this model with this assistant.' in out
    assert out[-2].endswith(f"assistant config set llm.model {kind.named}")


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("key", "value"), [("model", "qwen3-1.7b"), ("endpoint", "http://127.0.0.1:1/v1")]
)
@pytest.mark.parametrize("action", ["list", "pull"])
def test_no_untried_model_is_named_if_the_settings_choose_the_model(
    run: Run, home: Home, action: str, key: str, value: str
) -> None:
    home.settings_file.write_text(f'[llm]\n{key} = "{value}"\n')
    code, out, _ = run(action)
    assert code == 0
    assert "llm.model" not in "\n".join(out)


def test_the_first_start_downloads_the_profile_and_names_what_would_be_better(
    store: ModelStore, hub: Hub, kind: Kind
) -> None:
    said = io.StringIO()
    models.pull_missing(Settings(general=General(profile="default")), said)

    last = said.getvalue().splitlines()[-1]
    title = SHIPPED.get(kind.chosen).title
    assert last.startswith(f"Profile default. {title}: this machine has ")
    assert last.endswith(f"assistant config set llm.model {kind.named}")
    choice = profiles.choose_profile("default", kind.hardware, store)
    assert choice.profile.llm == kind.chosen
    assert store.missing(choice.profile.models) == []
    asked = {path.split("/")[0] for path, _ in hub.requests}
    assert asked == set(choice.profile.models), "no untried model is downloaded unless it is named"


def test_an_untried_model_is_downloaded_if_the_settings_name_it(
    store: ModelStore, kind: Kind, run: Run
) -> None:
    settings = Settings.model_validate({"llm": {"model": kind.named}})
    models.pull_missing(settings, io.StringIO())

    assert store.missing([kind.named]) == []
    assert kind.chosen in store.missing([kind.chosen])
    [row] = [line for line in run("list")[1] if line.split()[0] == kind.named]
    assert "ready, from 127.0.0.1" in row
    assert row.rstrip().endswith(", not tried yet")
