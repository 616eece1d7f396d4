"""What the profile `default` takes, by measured speeds, over busy hours and calm days."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.compose.engines import _announce_choice
from assistant.events import Event, EventBus, Notice
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection.machine_records import KEPT, Notes, notes_in
from models.selection.profiles import (
    SMALL,
    STRONG,
    TINY,
    Choice,
    Ground,
    choose_profile,
    to_measure,
)
from models.selection.requested import ModelSelection
from models.selection.speed import CALM_SHARE, Measurement, Speed, typical
from tests.support.hub_server import hub_server
from tests.unit.test_profiles import LAPTOP, MACBOOK, NETBOOK, SHIPPED, fast, never, nothing, shrunk

CHAT, CODER = STRONG
FAST, PASSABLE = Speed(65.0, 28.0), Speed(21.0, 9.0)
SLOW_WRITING, SLOW_READING = Speed(40.0, 3.0), Speed(13.0, 6.0)
START = datetime(2026, 11, 20, 8, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ModelStore]:
    """An empty cache of the real catalogue, whose files are served and have a few bytes."""
    files = {f"{name}/resolve/main/file.bin": name.encode() for name in SHIPPED.models}
    with hub_server(files) as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.url}
        yield ModelStore(tmp_path / "cache", shrunk(), prepare=nothing, environment=environment)


@pytest.fixture
def notes(store: ModelStore) -> Notes:
    return notes_in(store.cache)


@dataclass
class Machine:
    """A laptop with both models, in whose silences the better one is measured when that is due."""

    store: ModelStore
    notes: Notes
    speed: Speed = FAST
    share: float = 0.95
    now: datetime = START
    made: list[datetime] = field(default_factory=list)

    def live(self, length: timedelta) -> None:
        """Look every ten minutes whether a measurement is due, and make it."""
        end = self.now + length
        while self.now < end:
            model = to_measure(LAPTOP, self.store)
            if model is not None and self.notes.due(LAPTOP, model, self.now):
                measured = Measurement(self.speed, self.share, self.now)
                self.notes.keep(LAPTOP, model, measured)
                self.made.append(self.now)
            self.now += timedelta(minutes=10)

    @property
    def choice(self) -> Choice:
        return choose_profile("default", LAPTOP, self.store, self.notes, fast)


@pytest.fixture
def machine(store: ModelStore, notes: Notes) -> Machine:
    store.pull([CODER, SMALL.llm])
    return Machine(store, notes)


# -- what is fast enough ------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [FAST, PASSABLE, Speed(60.0, 5.0)])
def test_twice_the_pace_of_speech_is_enough(speed: Speed) -> None:
    assert speed.keeps_up


def test_writing_must_keep_up_with_speaking() -> None:
    assert not SLOW_WRITING.keeps_up
    assert not Speed(1000.0, 4.9).keeps_up


def test_the_first_clause_must_come_within_a_generous_time() -> None:
    assert not SLOW_READING.keeps_up
    assert Speed(60.0, 9.0).first_clause_s == pytest.approx(2.0)


def test_the_typical_speed_is_the_median_of_each_figure() -> None:
    made = [Measurement(Speed(r, w), 1.0, START) for r, w in ((10, 9), (30, 1), (20, 5))]

    assert typical(made) == Speed(20, 5)


# -- over time ----------------------------------------------------------------------------------


def test_a_busy_hour_changes_nothing(machine: Machine) -> None:
    before = machine.choice
    machine.speed = SLOW_WRITING
    for share in (0.13, 0.5, CALM_SHARE - 0.01):
        machine.share = share
        machine.live(timedelta(hours=1))

    assert machine.choice == before
    assert machine.choice.profile.llm == CODER
    assert machine.notes.measurements(LAPTOP, CODER) == []
    assert len(machine.made) == 18  # busy ones are not the end of it


def test_a_busy_day_does_not_outweigh_calm_measurements(machine: Machine) -> None:
    machine.live(timedelta(hours=6))
    before = machine.choice
    machine.speed, machine.share = Speed(2.0, 1.6), 0.2
    machine.live(timedelta(days=14))

    assert machine.choice == before
    assert "wrote 28 tokens a second when nothing else was running" in before.reason


@pytest.mark.parametrize("speed", [SLOW_WRITING, SLOW_READING])
def test_a_machine_that_is_truly_too_slow_gets_the_smaller_model(
    machine: Machine, speed: Speed
) -> None:
    machine.speed = speed
    machine.live(timedelta(days=1))

    assert machine.choice.profile.llm == SMALL.llm
    assert machine.choice.ground is Ground.SPEED


def test_one_slow_measurement_is_not_enough(machine: Machine) -> None:
    machine.speed = SLOW_WRITING
    machine.live(timedelta(minutes=50))
    assert len(machine.notes.measurements(LAPTOP, CODER)) == 1
    assert machine.choice.profile.llm == CODER
    machine.speed = FAST
    machine.live(timedelta(days=1))

    assert machine.choice.profile.llm == CODER


def test_the_choice_goes_down_and_up_again(machine: Machine) -> None:
    machine.speed = SLOW_WRITING
    machine.live(timedelta(days=1))
    assert machine.choice.profile.llm == SMALL.llm
    machine.speed = FAST
    machine.live(timedelta(days=2))

    assert machine.choice.profile.llm == CODER


def test_an_estimate_that_was_too_low_is_corrected_by_measuring(machine: Machine) -> None:
    machine.notes.add(LAPTOP, stream_rate=1.0)
    assert machine.choice.profile.llm == SMALL.llm
    machine.live(timedelta(days=1))

    assert machine.choice.profile.llm == CODER


def test_what_is_settled_is_measured_again_after_days(machine: Machine) -> None:
    machine.live(timedelta(days=1))
    assert len(machine.made) == KEPT
    machine.live(timedelta(days=7))
    assert len(machine.made) == KEPT + 1
    assert len(machine.notes.measurements(LAPTOP, CODER)) == KEPT


def test_a_clock_that_was_set_back_does_not_put_it_off(machine: Machine) -> None:
    machine.live(timedelta(days=1))

    assert not machine.notes.due(LAPTOP, CODER, machine.now)
    assert machine.notes.due(LAPTOP, CODER, START - timedelta(days=300))


def test_measurements_of_a_model_that_was_removed_do_not_stay_in_force(machine: Machine) -> None:
    for hours in range(KEPT):
        at = START + timedelta(hours=hours)
        machine.notes.keep(LAPTOP, CHAT, Measurement(SLOW_WRITING, 1.0, at))
    assert machine.choice.profile.llm == SMALL.llm
    machine.live(timedelta(days=1))

    assert machine.choice.profile.llm == CODER


@pytest.mark.parametrize("hardware", [NETBOOK, MACBOOK])
def test_nothing_is_measured_where_speed_decides_nothing(
    machine: Machine, hardware: Hardware
) -> None:
    assert to_measure(LAPTOP, machine.store) == CODER
    assert to_measure(hardware, machine.store) is None


def test_nothing_is_measured_that_is_not_on_the_machine(store: ModelStore) -> None:
    store.pull([SMALL.llm])

    assert to_measure(LAPTOP, store) is None


# -- what is kept -------------------------------------------------------------------------------


def test_a_cache_with_speeds_of_a_busy_machine_is_healed(machine: Machine) -> None:
    """Five sessions of which three were on a busy machine had demoted it for good."""
    old = {
        "stream_rate": 24e9,
        "llm": CODER,
        "speeds": {CODER: [31.5, 8.7, 1.6, 1.8, 28.0]},
    }
    machine.notes.path.write_text(json.dumps({LAPTOP.key: old, "another machine": old}))

    choice = choose_profile("default", LAPTOP, machine.store, machine.notes, never)
    assert choice.profile.llm == CODER
    machine.notes.add(LAPTOP, llm=CODER)

    kept = {"stream_rate": 24e9, "llm": CODER}
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
def test_damaged_measurements_count_for_nothing(machine: Machine, measured: object) -> None:
    machine.notes.path.write_text(json.dumps({LAPTOP.key: {"measured": measured}}))

    assert machine.choice.profile.llm == CODER
    assert machine.notes.due(LAPTOP, CODER, START)


def test_a_measurement_survives_the_file(machine: Machine) -> None:
    made = Measurement(Speed(65.1, 28.25), 0.93, START)
    machine.notes.keep(LAPTOP, CODER, made)

    assert machine.notes.measurements(LAPTOP, CODER) == [made]


# -- what is said -------------------------------------------------------------------------------


async def told(choice: Choice, machine: Machine, **settings: object) -> list[Notice]:
    """At a start."""
    bus, events = EventBus(), list[Event]()
    bus.subscribe(events.append)
    shop = ModelSelection(machine.store, LAPTOP, choice)
    await _announce_choice(shop, Settings.model_validate(settings), bus)
    return [event for event in events if isinstance(event, Notice)]


async def test_a_choice_is_told_once_and_again_when_it_changes(machine: Machine) -> None:
    first = await told(machine.choice, machine)
    assert [each.text for each in first] == [f"The language model is {machine.choice.reason}"]
    machine.live(timedelta(hours=6))
    assert "wrote 28" in machine.choice.reason
    assert await told(machine.choice, machine) == []  # other figures are no news
    machine.speed = SLOW_WRITING
    machine.live(timedelta(days=8))
    [down] = await told(machine.choice, machine)
    assert down.text.endswith(
        "A 1.5B model must write 5 tokens a second; here it wrote 3 when nothing else was running."
    )
    assert await told(machine.choice, machine) == []
    machine.speed = FAST
    machine.live(timedelta(days=2))
    assert len(await told(machine.choice, machine)) == 1


async def test_what_the_settings_name_is_not_told_as_a_choice(machine: Machine) -> None:
    assert await told(machine.choice, machine, llm={"model": CHAT}) == []
    assert await told(machine.choice, machine, llm={"endpoint": "http://127.0.0.1:1/v1"}) == []
    fixed = choose_profile("tiny", LAPTOP, machine.store, machine.notes, never)
    assert fixed.profile == TINY
    assert await told(fixed, machine, general={"profile": "tiny"}) == []


def test_a_slow_first_clause_is_given_as_the_reason(machine: Machine) -> None:
    machine.speed = SLOW_READING
    machine.live(timedelta(days=1))

    assert machine.choice.reason.endswith(
        "A 1.5B model must finish the first clause of an answer within 4 s; "
        "here it took 6.2 s when nothing else was running."
    )


def test_what_just_misses_a_limit_does_not_look_as_if_it_met_it(machine: Machine) -> None:
    machine.speed = Speed(60.0, 4.99)
    machine.live(timedelta(days=1))

    assert "here it wrote 4.9 when" in machine.choice.reason


# -- without a download -------------------------------------------------------------------------


def test_a_machine_that_should_change_but_lacks_the_model_goes_on_with_what_it_has(
    store: ModelStore, notes: Notes
) -> None:
    store.pull([CODER])
    machine = Machine(store, notes, SLOW_WRITING)
    machine.live(timedelta(days=1))

    choice = machine.choice
    assert (choice.profile.llm, choice.absent, choice.ground) == (CODER, SMALL.llm, Ground.ABSENT)
    suitable = "Qwen2.5-Coder 0.5B Instruct would suit this machine"
    assert f": {suitable}, but has not been downloaded; this machine has " in choice.reason
    download = choose_profile("default", LAPTOP, store, notes, fast, anew=True)
    assert (download.profile.llm, download.absent) == (SMALL.llm, None)


def test_the_smaller_model_serves_until_the_better_one_is_there(
    store: ModelStore, notes: Notes
) -> None:
    store.pull([SMALL.llm])

    choice = choose_profile("default", LAPTOP, store, notes, fast)
    assert (choice.profile.llm, choice.absent) == (SMALL.llm, CHAT)
