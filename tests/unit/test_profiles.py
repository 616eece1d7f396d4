"""Which models a machine gets, and what it is told about it."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.errors import ModelTooLarge, ModelUnavailable, SettingsError
from models import catalogue
from models.catalogue import Catalogue, Engine, ModelRole, parse
from models.download.cache import ModelStore
from models.download.sources import Transfer
from models.hardware import (
    Hardware,
    detect,
    expected_speed,
    require_ram,
    stream_rate,
    usable_cores,
)
from models.selection import profiles
from models.selection.machine_records import Notes, notes_in
from models.selection.profiles import APPLE_MODELS, SMALL, STRONG, TINY, choose_profile
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server

SHIPPED = catalogue.read()
LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)
MACBOOK = Hardware(16 << 30, 8, apple_silicon=True)
NETBOOK = Hardware(4 << 30, 2, apple_silicon=False)
MIRRORED = [name for name, model in SHIPPED.models.items() if model.pieces]


def fast(_threads: int) -> float:
    return 30e9


def slow(_threads: int) -> float:
    return 5e9


def never(_threads: int) -> float:
    raise AssertionError("the processor was probed again")


def nothing(_transfer: Transfer) -> None:
    """No preparation."""


def shrunk() -> Catalogue:
    """All shipped names and roles, each with one small file of its own, on the hub alone."""
    tables = {}
    for name, model in SHIPPED.models.items():
        tables[name] = small_models.table(
            role=model.role,
            engine=model.engine,
            title=model.title,
            files=small_models.entries({"file.bin": name.encode()}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
    return parse(tables)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server({f"{n}/resolve/main/file.bin": n.encode() for n in SHIPPED.models}) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> ModelStore:
    environment = {**os.environ, "HF_ENDPOINT": hub.url}
    return ModelStore(tmp_path / "cache", shrunk(), prepare=nothing, environment=environment)


@pytest.fixture
def shipped(tmp_path: Path) -> ModelStore:
    """An empty cache of the real catalogue."""
    return ModelStore(tmp_path / "empty", SHIPPED)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return notes_in(tmp_path / "cache")


@pytest.mark.parametrize("profile", [TINY, SMALL])
def test_profiles_name_a_model_of_the_catalogue_for_every_role(profile: profiles.Profile) -> None:
    assert {SHIPPED.get(name).role for name in profile.models} == set(ModelRole)
    assert all(SHIPPED.get(name).role is role for role, name in profile.by_role.items())
    assert set(profile.models) <= set(MIRRORED)


def test_larger_profiles_have_a_quick_encoder_that_stands_in() -> None:
    assert TINY.encoders == ("all-minilm-l6-v2",)
    assert SMALL.encoders == ("all-minilm-l6-v2", "all-mpnet-base-v2")
    assert {SHIPPED.get(name).role for name in SMALL.encoders} == {ModelRole.ENCODER}
    assert len(SMALL.models) == len(set(SMALL.models)) == 5


def test_a_fixed_profile(shipped: ModelStore, notes: Notes) -> None:
    choice = choose_profile("tiny", LAPTOP, shipped, notes, never)

    assert choice.profile == TINY
    assert choice.candidates == ("smollm2-135m-instruct",)


def test_an_unknown_profile(shipped: ModelStore, notes: Notes) -> None:
    with pytest.raises(SettingsError, match="no profile `huge`") as caught:
        choose_profile("huge", LAPTOP, shipped, notes, never)

    assert "tiny, small, default" in str(caught.value.mend)


def test_a_strong_machine_gets_the_larger_model(shipped: ModelStore, notes: Notes) -> None:
    choice = choose_profile("default", LAPTOP, shipped, notes, fast)

    assert choice.candidates == STRONG
    assert choice.profile.llm == STRONG[0]
    assert choice.reason.startswith("Qwen2.5 1.5B Instruct: this machine has 17.2 GB of memory")
    assert "a 1.5B model is expected to write 24 tokens a second." in choice.reason


@pytest.mark.parametrize(
    ("hardware", "why"),
    [
        (NETBOOK, "this machine has 4.3 GB of memory. A 1.5B model would need 8 GB."),
        (
            LAPTOP,
            "A 1.5B model must write 5 tokens a second; "
            "on this processor, it is expected to write 4.",
        ),
    ],
)
def test_a_weak_machine_gets_the_small_model(
    shipped: ModelStore, notes: Notes, hardware: Hardware, why: str
) -> None:
    choice = choose_profile("default", hardware, shipped, notes, slow)

    assert choice.profile.models == SMALL.models
    assert why in choice.reason


def test_apple_silicon_gets_mlx(shipped: ModelStore, notes: Notes) -> None:
    choice = choose_profile("default", MACBOOK, shipped, notes, never)

    assert choice.candidates == APPLE_MODELS
    assert SHIPPED.get(choice.profile.llm).engine is Engine.MLX


@pytest.mark.parametrize("hardware", [LAPTOP, MACBOOK])
@pytest.mark.parametrize("engine", [Engine.LLAMA_CPP, Engine.MLX])
def test_an_engine_that_the_settings_ask_for(
    shipped: ModelStore, notes: Notes, hardware: Hardware, engine: Engine
) -> None:
    choice = choose_profile("default", hardware, shipped, notes, fast, engine)

    assert {SHIPPED.get(name).engine for name in choice.candidates} == {engine}


def test_the_processor_is_probed_once_a_machine(shipped: ModelStore, notes: Notes) -> None:
    first = choose_profile("default", LAPTOP, shipped, notes, fast)

    assert choose_profile("default", LAPTOP, shipped, notes, never) == first
    with pytest.raises(AssertionError, match="probed again"):
        choose_profile("default", Hardware(32 << 30, 4, apple_silicon=False), shipped, notes, never)


def test_a_machine_that_was_busy_at_first_can_be_probed_anew(
    shipped: ModelStore, notes: Notes
) -> None:
    assert choose_profile("default", LAPTOP, shipped, notes, slow).candidates == (SMALL.llm,)
    assert choose_profile("default", LAPTOP, shipped, notes, fast, anew=True).candidates == STRONG
    assert choose_profile("default", LAPTOP, shipped, notes, slow, anew=True).candidates == STRONG


def test_damaged_notes_cost_a_probe_and_no_more(shipped: ModelStore, notes: Notes) -> None:
    notes.path.parent.mkdir()
    for text in ("{", "[]", '{"x": 1}'):
        notes.path.write_text(text)
        assert choose_profile("default", LAPTOP, shipped, notes, fast).candidates == STRONG


def test_a_cache_that_cannot_be_written_costs_a_probe_each_time(
    shipped: ModelStore, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")

    assert choose_profile("default", LAPTOP, shipped, notes_in(tmp_path / "cache"), fast).candidates


def test_pulling_takes_the_best_that_is_served(store: ModelStore, notes: Notes, hub: Hub) -> None:
    choice = profiles.pull_choice(
        store, choose_profile("default", LAPTOP, store, notes, fast), LAPTOP, notes
    )

    assert choice.profile.llm == STRONG[0]
    assert store.missing(choice.profile.models) == []
    assert f"{STRONG[1]}/resolve/main/file.bin" not in [path for path, _ in hub.requests]


def test_pulling_falls_back_and_the_next_start_knows(
    store: ModelStore, notes: Notes, hub: Hub
) -> None:
    hub.files = {path: body for path, body in hub.files.items() if not path.startswith(STRONG[0])}
    choice = profiles.pull_choice(
        store, choose_profile("default", LAPTOP, store, notes, fast), LAPTOP, notes
    )

    assert choice.profile.llm == STRONG[1]
    assert choice.reason.startswith("Qwen2.5-Coder 1.5B Instruct: ")
    assert "A better one could not be downloaded. The model Qwen2.5 1.5B Instruct" in choice.reason
    again = choose_profile("default", LAPTOP, store, notes, never)
    assert again.profile == choice.profile
    assert store.missing(again.profile.models) == []
    store.remove(STRONG[1])
    assert choose_profile("default", LAPTOP, store, notes, never).profile.llm == STRONG[1]


def test_when_no_language_model_is_served(store: ModelStore, notes: Notes, hub: Hub) -> None:
    hub.files = {path: body for path, body in hub.files.items() if "1.5b" not in path}

    with pytest.raises(ModelUnavailable, match=r"Qwen2\.5-Coder 1\.5B Instruct could not"):
        profiles.pull_choice(
            store, choose_profile("default", LAPTOP, store, notes, fast), LAPTOP, notes
        )


def test_a_model_larger_than_the_memory_is_one_sentence_with_figures() -> None:
    require_ram(SHIPPED.get("qwen3-1.7b"), LAPTOP)

    with pytest.raises(ModelTooLarge) as caught:
        require_ram(SHIPPED.get("qwen3-1.7b"), Hardware(2 << 30, 2, apple_silicon=False))

    assert str(caught.value) == "Qwen3 1.7B needs 3.4 GB of memory and this machine has 2.1 GB."
    assert caught.value.mend


def test_this_machine() -> None:
    here = detect()

    assert here.ram_bytes > 1 << 30
    assert 1 <= here.threads <= here.cores <= (os.cpu_count() or 1)
    assert here.key == detect().key
    rate = stream_rate(1, rounds=1, seconds=0.02)
    assert rate > 0
    assert expected_speed(rate, SHIPPED.get(STRONG[1]).bytes) < expected_speed(rate, 1 << 20)


def test_cores_that_it_may_not_run_on_do_not_count() -> None:
    """In a thread, which has its own set on Linux; elsewhere nothing can take them away."""

    def cores_of_one() -> int:
        if sys.platform == "linux":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        return usable_cores()

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(cores_of_one).result()
    assert left == (1 if sys.platform == "linux" else os.cpu_count())
    assert 1 <= left <= usable_cores()
