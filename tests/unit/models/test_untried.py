"""Which untried model is named as better than the chosen one, and how sure its speed is."""

from pathlib import Path

import pytest

from models.catalogue import ModelRole
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection.machine_records import KEPT, Speed, notes_in
from models.selection.profiles import APPLE_MODELS, SMALL, STRONG, Choice, choose_profile
from models.selection.untried import APPLE_RANKING, RANKING
from tests.support.small_store import SHIPPED
from tests.unit.models.test_measured_speed import measurement

CODER = STRONG[-1]
DESKTOP = Hardware(32 << 30, 16, apple_silicon=False)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """An empty cache of the real catalogue, with the models' real sizes."""
    return ModelStore(tmp_path / "cache", SHIPPED)


def choose(store: ModelStore, hardware: Hardware, gigabytes_per_s: float = 60) -> Choice:
    return choose_profile("default", hardware, store, lambda _threads: gigabytes_per_s * 1e9)


def test_the_rankings_hold_the_language_models_that_can_be_chosen() -> None:
    named = {*RANKING, *APPLE_RANKING}
    assert {SMALL.llm, *STRONG, *APPLE_MODELS} < named
    assert all(SHIPPED.get(name).role is ModelRole.LLM for name in named)
    assert [name for name in APPLE_RANKING if name in RANKING] == list(RANKING)


def test_profiles_choose_tried_models_except_the_sibling_of_one() -> None:
    chosen = {*SMALL.models, *STRONG, *APPLE_MODELS}
    assert {name for name in chosen if not SHIPPED.get(name).tried} == {
        "qwen2.5-1.5b-instruct",
        "qwen2.5-1.5b-instruct-mlx",
    }


@pytest.mark.parametrize(
    ("gib", "gigabytes_per_s", "chosen", "named"),
    [
        (32, 60, "qwen2.5-1.5b-instruct", "Qwen3.5 4B"),
        (32, 12.5, "qwen2.5-1.5b-instruct", "Ministral 3 3B Instruct 2512"),
        (32, 10, "qwen2.5-1.5b-instruct", "Qwen3.5 2B"),
        (8, 60, "qwen2.5-1.5b-instruct", "Qwen3.5 2B"),
        (8, 6.5, "qwen2.5-1.5b-instruct", None),
        (8, 5, SMALL.llm, "LFM2.5 1.2B Instruct"),
        (4, 60, SMALL.llm, None),
    ],
)
def test_memory_and_speed_decide_which_model_is_named(
    store: ModelStore, gib: int, gigabytes_per_s: float, chosen: str, named: str | None
) -> None:
    choice = choose(store, Hardware(gib << 30, 8, apple_silicon=False), gigabytes_per_s)

    assert choice.profile.llm == chosen
    if named is None:
        assert choice.worth_trying is None
        assert choice.reason_and_advice == choice.reason
    else:
        assert choice.worth_trying is not None
        assert choice.worth_trying.startswith(f"{named} is expected to answer better")
        assert choice.reason.endswith("."), "it may be followed by other sentences"
        assert choice.reason_and_advice == f"{choice.reason} {choice.worth_trying}"


@pytest.mark.parametrize(
    ("speed", "named"),
    [
        (Speed(300.0, 60.0), "Qwen3.5 4B"),
        (Speed(300.0, 7.0), "Qwen3.5 2B"),
        (Speed(40.0, 60.0), "Qwen3 4B Instruct 2507"),
    ],
)
def test_a_measured_speed_counts_more_than_the_estimate(
    store: ModelStore, speed: Speed, named: str
) -> None:
    notes = notes_in(store.cache)
    for _ in range(KEPT):
        notes.keep(DESKTOP, CODER, measurement(speed))

    assert str(choose(store, DESKTOP).worth_trying).startswith(named)


@pytest.mark.parametrize(
    ("apple_silicon", "said"),
    [(False, "should suit this machine, but"), (True, "fits into this machine's memory, but")],
)
def test_what_is_said_of_an_untried_model_is_only_what_was_checked(
    store: ModelStore, apple_silicon: bool, said: str
) -> None:
    choice = choose(store, Hardware(32 << 30, 8, apple_silicon=apple_silicon))
    assert f"is expected to answer better and {said} " in str(choice.worth_trying)


def test_a_fixed_profile_names_no_other_model(store: ModelStore) -> None:
    assert choose_profile("small", DESKTOP, store).worth_trying is None
