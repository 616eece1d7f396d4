"""Which models a machine gets, and the reason that is given."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.errors import ModelTooLarge, ModelUnavailable, SettingsError
from models.catalogue import Engine, ModelRole
from models.download.cache import ModelStore
from models.hardware import (
    Hardware,
    detect,
    expected_speed,
    require_ram,
    stream_rate,
    usable_cores,
)
from models.selection.machine_records import notes_in
from models.selection.profiles import (
    APPLE_MODELS,
    SMALL,
    STRONG,
    TINY,
    Choice,
    choose_profile,
    pull_choice,
)
from tests.support.hub_server import Hub, hub_server
from tests.support.small_store import LAPTOP, SHIPPED, SHRUNK_FILES, shrunk_store

MACBOOK = Hardware(16 << 30, 8, apple_silicon=True)
NETBOOK = Hardware(4 << 30, 2, apple_silicon=False)
FAST, SLOW = 30e9, 5e9
"""The speed at which the processor reads memory, in bytes per second."""


@pytest.fixture
def empty(tmp_path: Path) -> ModelStore:
    """An empty cache of the real catalogue."""
    return ModelStore(tmp_path / "cache", SHIPPED)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(SHRUNK_FILES) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> ModelStore:
    return shrunk_store(tmp_path / "cache", hub.url)


def choose(
    store: ModelStore,
    rate: float | None = None,
    hardware: Hardware = LAPTOP,
    *,
    name: str = "default",
    anew: bool = False,
) -> Choice:
    """Choose on a machine whose processor reads at this rate; None if it must not be probed."""

    def probe(_threads: int) -> float:
        assert rate is not None, "the processor was probed again"
        return rate

    return choose_profile(name, hardware, store, probe, anew=anew)


def test_every_profile_names_a_mirrored_model_for_every_role() -> None:
    for profile in (TINY, SMALL):
        named = {
            ModelRole.STT: (profile.stt,),
            ModelRole.LLM: (profile.llm,),
            ModelRole.TTS: (profile.tts,),
            ModelRole.ENCODER: profile.encoders,
        }
        assert sorted(profile.models) == sorted(name for each in named.values() for name in each)
        for role, names in named.items():
            assert all(SHIPPED.get(name).role is role for name in names)
            assert all(SHIPPED.get(name).pieces for name in names)
    assert TINY.encoders == ("all-minilm-l6-v2",)
    assert SMALL.encoders == ("all-minilm-l6-v2", "all-mpnet-base-v2"), "the faster one first"
    assert SHIPPED.get(STRONG[-1]).pieces


def test_a_fixed_profile_is_the_same_on_every_machine(empty: ModelStore) -> None:
    choice = choose(empty, name="tiny")

    assert choice.profile == TINY
    assert choice.candidates == ("smollm2-135m-instruct",)
    with pytest.raises(SettingsError, match="no profile `huge`") as caught:
        choose(empty, name="huge")
    assert "tiny, small, default" in str(caught.value.mend)


def test_a_strong_machine_gets_the_larger_model(empty: ModelStore) -> None:
    choice = choose(empty, FAST)

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
    empty: ModelStore, hardware: Hardware, why: str
) -> None:
    choice = choose(empty, SLOW, hardware)

    assert choice.profile.models == SMALL.models
    assert why in choice.reason


def test_apple_silicon_gets_mlx(empty: ModelStore) -> None:
    choice = choose(empty, hardware=MACBOOK)

    assert choice.candidates == APPLE_MODELS
    assert SHIPPED.get(choice.profile.llm).engine is Engine.MLX


def test_the_processor_is_probed_once_per_machine_and_for_each_download(empty: ModelStore) -> None:
    assert choose(empty, SLOW).candidates == (SMALL.llm,)
    assert choose(empty).candidates == (SMALL.llm,)
    with pytest.raises(AssertionError, match="probed again"):
        choose(empty, hardware=Hardware(32 << 30, 4, apple_silicon=False))
    assert choose(empty, FAST, anew=True).candidates == STRONG, (
        "the processor was busy the first time"
    )
    assert choose(empty, SLOW, anew=True).candidates == STRONG, "the processor is busy now"


def test_a_machine_whose_records_are_damaged_or_unwritable_is_probed_again(
    empty: ModelStore,
) -> None:
    empty.cache.mkdir()
    for text in ("{", "[]", '{"x": 1}'):
        notes_in(empty.cache).path.write_text(text)
        assert choose(empty, FAST).candidates == STRONG
    notes_in(empty.cache).path.unlink()
    empty.cache.rmdir()
    empty.cache.write_text("a file where the folder should be")
    assert choose(empty, FAST).candidates == STRONG


def pulled(store: ModelStore) -> Choice:
    return pull_choice(store, choose(store, FAST), LAPTOP)


def test_a_download_takes_the_best_model_that_is_served(store: ModelStore, hub: Hub) -> None:
    choice = pulled(store)

    assert choice.profile.llm == STRONG[0]
    assert store.missing(choice.profile.models) == []
    assert f"{STRONG[1]}/resolve/main/file.bin" not in [path for path, _ in hub.requests]


def test_a_download_falls_back_to_a_model_that_the_next_start_chooses_too(
    store: ModelStore, hub: Hub
) -> None:
    hub.files = {path: body for path, body in hub.files.items() if not path.startswith(STRONG[0])}
    choice = pulled(store)

    assert choice.profile.llm == STRONG[1]
    assert choice.reason.startswith("Qwen2.5-Coder 1.5B Instruct: ")
    assert (
        "A better model could not be downloaded. The model Qwen2.5 1.5B Instruct" in choice.reason
    )
    again = choose(store)
    assert again.profile == choice.profile
    assert store.missing(again.profile.models) == []
    store.remove(STRONG[1])
    assert choose(store).profile.llm == STRONG[1]


def test_a_download_without_any_language_model_fails(store: ModelStore, hub: Hub) -> None:
    hub.files = {path: body for path, body in hub.files.items() if "1.5b" not in path}

    with pytest.raises(ModelUnavailable, match=r"Qwen2\.5-Coder 1\.5B Instruct could not"):
        pulled(store)


def test_a_model_larger_than_the_memory_is_refused_with_figures() -> None:
    require_ram(SHIPPED.get("qwen3-1.7b"), LAPTOP)

    with pytest.raises(ModelTooLarge) as caught:
        require_ram(SHIPPED.get("qwen3-1.7b"), Hardware(2 << 30, 2, apple_silicon=False))
    assert (
        str(caught.value) == "Qwen3 1.7B needs 3.4 GB of memory, but this machine has only 2.1 GB."
    )
    assert caught.value.mend


def test_this_machine_is_described() -> None:
    here = detect()

    assert here.ram_bytes > 1 << 30
    assert 1 <= here.threads <= here.cores <= (os.cpu_count() or 1)
    assert here.key == detect().key
    rate = stream_rate(1, rounds=1, seconds=0.02)
    assert rate > 0
    assert expected_speed(rate, SHIPPED.get(STRONG[1]).bytes) < expected_speed(rate, 1 << 20)


def test_cores_that_the_process_may_not_run_on_do_not_count() -> None:
    """Uses a thread, which has its own set of cores on Linux; elsewhere no core can be excluded."""

    def cores_of_one() -> int:
        if sys.platform == "linux":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        return usable_cores()

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(cores_of_one).result()
    assert left == (1 if sys.platform == "linux" else os.cpu_count())
    assert 1 <= left <= usable_cores()
