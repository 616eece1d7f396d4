"""How measured speeds decide which model `default` uses, over busy hours and calm days."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.compose.engines import _announce_choice
from assistant.event_bus import EventBus
from assistant.events import Event, Notice
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection.machine_records import (
    CALM_SHARE,
    KEPT,
    Measurement,
    Notes,
    Speed,
    notes_in,
    typical,
)
from models.selection.profiles import (
    SMALL,
    STRONG,
    Choice,
    Ground,
    choose_profile,
    to_measure,
)
from models.selection.requested import ModelSelection
from tests.support.hub_server import hub_server
from tests.support.small_store import LAPTOP, SHRUNK_FILES, shrunk_store

CHAT, CODER = STRONG
FAST, PASSABLE = Speed(65.0, 28.0), Speed(21.0, 9.0)
SLOW_WRITING, SLOW_READING = Speed(40.0, 3.0), Speed(13.0, 6.0)
START = datetime(2026, 11, 20, 8, tzinfo=UTC)


def measurement(speed: Speed, share: float = 1.0, at: datetime = START) -> Measurement:
    return Measurement(speed.reading, speed.writing, share, at)


@dataclass
class Machine:
    """A laptop on which the better model is measured whenever that is due."""

    store: ModelStore
    speed: Speed = FAST
    share: float = 0.95
    now: datetime = START
    made: list[datetime] = field(default_factory=list)

    @property
    def notes(self) -> Notes:
        return notes_in(self.store.cache)

    def live(self, length: timedelta) -> None:
        """Check every ten minutes whether a measurement is due, and make it if so."""
        end = self.now + length
        while self.now < end:
            model = to_measure(LAPTOP, self.store)
            if model is not None and self.notes.due(LAPTOP, model, self.now):
                self.notes.keep(LAPTOP, model, measurement(self.speed, self.share, self.now))
                self.made.append(self.now)
            self.now += timedelta(minutes=10)

    def choose(self, *, anew: bool = False) -> Choice:
        return choose_profile("default", LAPTOP, self.store, lambda _threads: 30e9, anew=anew)

    @property
    def llm(self) -> str:
        return self.choose().profile.llm


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ModelStore]:
    """An empty cache with the real catalogue, whose files are served with only a few bytes."""
    with hub_server(SHRUNK_FILES) as hub:
        yield shrunk_store(tmp_path / "cache", hub.url)


@pytest.fixture
def machine(store: ModelStore) -> Machine:
    store.pull([CODER, SMALL.llm])
    return Machine(store)


@pytest.mark.parametrize(
    ("speed", "enough"),
    [
        (FAST, True),
        (PASSABLE, True),
        (Speed(60.0, 5.0), True),
        (SLOW_WRITING, False),
        (Speed(1000.0, 4.9), False),
        (SLOW_READING, False),
    ],
)
def test_a_speed_suffices_if_it_keeps_up_with_speech_and_begins_in_time(
    speed: Speed, enough: bool
) -> None:
    assert speed.keeps_up is enough


def test_the_typical_speed_is_the_median_of_each_figure() -> None:
    assert typical([Speed(10, 9), Speed(30, 1), Speed(20, 5)]) == Speed(20, 5)


# -- over time ----------------------------------------------------------------------------------


def test_a_busy_hour_changes_nothing(machine: Machine) -> None:
    before = machine.choose()
    machine.speed = SLOW_WRITING
    for share in (0.13, 0.5, CALM_SHARE - 0.01):
        machine.share = share
        machine.live(timedelta(hours=1))

    assert machine.choose() == before
    assert machine.llm == CODER
    assert machine.notes.measurements(LAPTOP, CODER) == []
    assert len(machine.made) == 18, "measuring is retried while the machine is busy"


def test_a_busy_fortnight_does_not_outweigh_calm_measurements(machine: Machine) -> None:
    machine.live(timedelta(hours=6))
    before = machine.choose()
    machine.speed, machine.share = Speed(2.0, 1.6), 0.2
    machine.live(timedelta(days=14))

    assert machine.choose() == before
    assert "wrote 28 tokens a second when nothing else was running" in before.reason


@pytest.mark.parametrize(
    ("speed", "reason"),
    [
        (
            SLOW_WRITING,
            "A 1.5B model must write 5 tokens a second; "
            "here it wrote 3 when nothing else was running.",
        ),
        (
            SLOW_READING,
            "A 1.5B model must finish the first clause of an answer within 4 s; "
            "here it took 6.2 s when nothing else was running.",
        ),
        # This just misses the limit, and must not be rounded up to it.
        (
            Speed(60.0, 4.99),
            "A 1.5B model must write 5 tokens a second; "
            "here it wrote 4.9 when nothing else was running.",
        ),
    ],
)
def test_a_machine_that_is_too_slow_gets_the_smaller_model_until_it_is_fast(
    machine: Machine, speed: Speed, reason: str
) -> None:
    machine.speed = speed
    machine.live(timedelta(days=1))
    choice = machine.choose()

    assert (choice.profile.llm, choice.ground) == (SMALL.llm, Ground.SPEED)
    assert reason in choice.reason

    machine.speed = FAST
    machine.live(timedelta(days=2))
    assert machine.llm == CODER


def test_one_slow_measurement_is_not_enough(machine: Machine) -> None:
    machine.speed = SLOW_WRITING
    machine.live(timedelta(minutes=50))
    assert len(machine.notes.measurements(LAPTOP, CODER)) == 1
    assert machine.llm == CODER
    machine.speed = FAST
    machine.live(timedelta(days=1))

    assert machine.llm == CODER


def test_an_estimate_that_was_too_low_is_corrected_by_measuring(machine: Machine) -> None:
    machine.notes.add(LAPTOP, stream_rate=1.0)
    assert machine.llm == SMALL.llm
    machine.live(timedelta(days=1))

    assert machine.llm == CODER


def test_a_settled_speed_is_measured_again_after_days(machine: Machine) -> None:
    machine.live(timedelta(days=1))
    assert len(machine.made) == KEPT
    assert not machine.notes.due(LAPTOP, CODER, machine.now)
    set_back = START - timedelta(days=300)
    assert machine.notes.due(LAPTOP, CODER, set_back), "the clock was set back"
    machine.live(timedelta(days=7))
    assert len(machine.made) == KEPT + 1
    assert len(machine.notes.measurements(LAPTOP, CODER)) == KEPT


def test_measurements_of_a_model_that_was_removed_do_not_stay_in_force(machine: Machine) -> None:
    for hours in range(KEPT):
        at = START + timedelta(hours=hours)
        machine.notes.keep(LAPTOP, CHAT, measurement(SLOW_WRITING, at=at))
    assert machine.llm == SMALL.llm
    machine.live(timedelta(days=1))

    assert machine.llm == CODER


def test_nothing_is_measured_if_speed_does_not_affect_the_choice(store: ModelStore) -> None:
    store.pull([SMALL.llm])
    assert to_measure(LAPTOP, store) is None, "the better model is missing"
    store.pull([CODER])
    assert to_measure(LAPTOP, store) == CODER
    assert to_measure(Hardware(4 << 30, 2, apple_silicon=False), store) is None
    assert to_measure(Hardware(16 << 30, 8, apple_silicon=True), store) is None


# -- what is stored -----------------------------------------------------------------------------


def test_speeds_recorded_without_the_machine_s_load_are_dropped(machine: Machine) -> None:
    """Five sessions, three of them on a busy machine, had demoted the model for good."""
    kept = {"stream_rate": 24e9, "llm": CODER}
    old = kept | {"speeds": {CODER: [31.5, 8.7, 1.6, 1.8, 28.0]}}
    machine.notes.path.write_text(json.dumps({LAPTOP.key: old, "another machine": old}))
    assert machine.llm == CODER

    machine.notes.add(LAPTOP, llm=CODER)
    assert json.loads(machine.notes.path.read_text()) == {LAPTOP.key: kept, "another machine": kept}


@pytest.mark.parametrize(
    "measured",
    [
        7,
        {CODER: 7},
        {CODER: [7, {"reading": "x"}, {}]},
        {CODER: [{"reading": 0, "writing": 0, "share": 1, "at": START.isoformat()}] * 3},
        {CODER: [{"reading": 9, "writing": 1, "share": 1, "at": "2026-11-20"}] * 3},
        {CODER: [{"reading": 9, "writing": 1, "share": 0.3, "at": START.isoformat()}] * 3},
    ],
)
def test_damaged_measurements_are_ignored(machine: Machine, measured: object) -> None:
    machine.notes.path.write_text(json.dumps({LAPTOP.key: {"measured": measured}}))

    assert machine.llm == CODER
    assert machine.notes.due(LAPTOP, CODER, START)


def test_a_measurement_is_stored_as_json(machine: Machine) -> None:
    made = measurement(Speed(65.1, 28.25), 0.93)
    machine.notes.keep(LAPTOP, CODER, made)

    assert machine.notes.measurements(LAPTOP, CODER) == [made]
    assert json.loads(machine.notes.path.read_text())[LAPTOP.key]["measured"] == {
        CODER: [
            {"reading": 65.1, "writing": 28.25, "share": 0.93, "at": "2026-11-20T08:00:00+00:00"}
        ]
    }


# -- what is reported ---------------------------------------------------------------------------


async def notices(choice: Choice, machine: Machine, **settings: object) -> list[str]:
    """The notices that are reported at a start."""
    bus, events = EventBus(), list[Event]()
    bus.subscribe(events.append)
    selection = ModelSelection(machine.store, LAPTOP, choice)
    await _announce_choice(selection, Settings.model_validate(settings), bus)
    return [event.text for event in events if isinstance(event, Notice)]


async def test_a_choice_is_reported_once_and_again_when_it_changes(machine: Machine) -> None:
    first = machine.choose()
    assert await notices(first, machine) == [f"The language model is {first.reason_and_advice}"]
    machine.live(timedelta(hours=6))
    assert "wrote 28" in machine.choose().reason
    assert await notices(machine.choose(), machine) == [], "changed figures are not reported"
    machine.speed = SLOW_WRITING
    machine.live(timedelta(days=8))
    assert len(await notices(machine.choose(), machine)) == 1
    assert await notices(machine.choose(), machine) == []


async def test_a_model_that_the_settings_name_is_not_reported_as_a_choice(
    machine: Machine,
) -> None:
    for settings in (
        {"llm": {"model": CHAT}},
        {"llm": {"endpoint": "http://127.0.0.1:1/v1"}},
        {"general": {"profile": "tiny"}},
    ):
        assert await notices(machine.choose(), machine, **settings) == []


# -- without a download -------------------------------------------------------------------------


def test_a_machine_without_the_suitable_model_continues_with_the_one_it_has(
    store: ModelStore,
) -> None:
    store.pull([CODER])
    machine = Machine(store, SLOW_WRITING)
    machine.live(timedelta(days=1))

    choice = machine.choose()
    assert (choice.profile.llm, choice.absent, choice.ground) == (CODER, SMALL.llm, Ground.ABSENT)
    suitable = "Qwen2.5-Coder 0.5B Instruct would suit this machine"
    assert f": {suitable}, but has not been downloaded; this machine has " in choice.reason
    download = machine.choose(anew=True)
    assert (download.profile.llm, download.absent) == (SMALL.llm, None)


def test_the_smaller_model_is_used_until_the_better_one_is_downloaded(store: ModelStore) -> None:
    store.pull([SMALL.llm])

    choice = Machine(store).choose()
    assert (choice.profile.llm, choice.absent) == (SMALL.llm, CHAT)
