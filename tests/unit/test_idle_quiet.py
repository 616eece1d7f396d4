"""When it is quiet, by the events; how much idle work a machine bears."""

import asyncio
from collections.abc import Callable

import psutil
import pytest

from assistant.events import (
    Event,
    EventBus,
    Latency,
    MicrophoneLevel,
    Phase,
    PhaseChanged,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
    TurnStarted,
    UserSensed,
)
from assistant.idle import activity as module
from assistant.idle.activity import ActivityMonitor
from assistant.idle.load_policy import LoadPolicy, MachineLoad, Ticks, WorkAllowed
from assistant.settings import Idle

LISTENING = PhaseChanged(Phase.LISTENING)
HEARING = PhaseChanged(Phase.HEARING)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def watched(*events: Event, clock: Callable[[], float] | None = None) -> ActivityMonitor:
    quiet = ActivityMonitor(clock=clock or Clock())
    for event in events:
        quiet.watch(event)
    return quiet


@pytest.mark.parametrize("phase", Phase)
def test_it_is_quiet_where_nobody_is_heard_or_answered(phase: Phase) -> None:
    expected = phase.value in ("listening", "asleep", "muted", "paused")
    assert watched(PhaseChanged(phase)).now == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), False),  # it is just starting
        ((LISTENING,), True),
        ((LISTENING, MicrophoneLevel(-3.0)), True),
        ((LISTENING, UserSensed()), False),
        ((LISTENING, UserSensed(sure=True)), False),
        ((LISTENING, TurnStarted(1)), False),
        ((LISTENING, TurnStarted(1), HEARING, SpeechIgnored("noise"), LISTENING), True),
        # Asleep no phase tells of a voice.
        ((PhaseChanged(Phase.ASLEEP), UserSensed(sure=True)), False),
        ((PhaseChanged(Phase.ASLEEP), UserSensed(sure=True), SpeechIgnored("asleep")), True),
        # Who interrupts an answer goes on speaking when that has ended.
        ((PhaseChanged(Phase.SPEAKING), TurnStarted(2), LISTENING), False),
        ((PhaseChanged(Phase.SPEAKING), TurnStarted(2), LISTENING, TurnHeard(2, "no")), True),
        ((LISTENING, TurnHeard(1, "hi"), PhaseChanged(Phase.THINKING)), False),
    ],
)
def test_events_tell_whether_somebody_is_there(events: tuple[Event, ...], expected: bool) -> None:
    assert watched(*events).now == expected


def test_a_doubtful_sign_is_over_soon_and_a_voice_without_an_end_in_the_end() -> None:
    clock = Clock()
    quiet = watched(LISTENING, clock=clock)
    for event, lasts in (
        (UserSensed(), module.UNCONFIRMED_SPEECH_S),
        (UserSensed(sure=True), module.LONGEST_S),
    ):
        quiet.watch(event)
        clock.now += lasts - 0.1
        assert not quiet.now, event
        clock.now += 0.1
        assert quiet.now, event


def test_whoever_works_is_told_within_the_event() -> None:
    bus, told = EventBus(), []
    quiet = ActivityMonitor()
    bus.subscribe(quiet.watch)
    quiet.on_sign(lambda: told.append(quiet.now))
    for event in (UserSensed(), UserSensed(sure=True), TurnStarted(1), HEARING, TurnHeard(1, "a")):
        before = len(told)
        bus.emit(event)
        assert len(told) == before + 1
        assert not told[-1]
    bus.emit(MicrophoneLevel(-3.0))
    bus.emit(TurnEnded(1, "hi", "there", False, Latency()))
    assert len(told) == 5


async def test_waiting_lasts_as_long_as_it_has_to_be_quiet() -> None:
    quiet = watched(clock=asyncio.get_running_loop().time)
    waiting = asyncio.create_task(quiet.lasting(0.02))
    await asyncio.sleep(0.03)
    assert not waiting.done()  # it never became quiet
    quiet.watch(LISTENING)
    since = quiet.clock()
    await asyncio.sleep(0.01)
    quiet.watch(TurnStarted(1))
    quiet.watch(SpeechIgnored("noise"))  # and begins again
    since = quiet.clock()
    await waiting
    assert quiet.clock() - since >= 0.019


async def test_what_was_before_may_not_count() -> None:
    clock = asyncio.get_running_loop().time
    quiet = watched(LISTENING, clock=clock)
    await asyncio.sleep(0.005)
    await quiet.lasting(0.005)  # at once
    until = [float("inf")]
    waiting = asyncio.create_task(quiet.lasting(0.0, lambda: until[0]))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    until[0] = clock()
    quiet.look_again()
    await waiting


# -- battery and load ---------------------------------------------------------------------------


class FakeMachine(MachineLoad):
    def __init__(self, *, battery: bool = False, busy: float | None = 0.0) -> None:
        self._battery = battery
        self._busy = busy
        self.reads = 0

    def on_battery(self) -> bool:
        return self._battery

    def ticks(self) -> Ticks | None:
        if self._busy is None:
            return None
        self.reads += 1
        return Ticks(100 + (1 - self._busy) * self.reads, 200 + self.reads)


@pytest.mark.parametrize(
    ("settings", "machine", "allowed"),
    [
        ({}, FakeMachine(), WorkAllowed.ALL),
        ({}, FakeMachine(battery=True), WorkAllowed.LIGHT),
        ({"on_battery": "nothing"}, FakeMachine(battery=True), WorkAllowed.NOTHING),
        ({"on_battery": "nothing"}, FakeMachine(), WorkAllowed.ALL),
        ({"on_battery": "all"}, FakeMachine(battery=True), WorkAllowed.ALL),
        ({}, FakeMachine(busy=0.5), WorkAllowed.ALL),
        ({}, FakeMachine(busy=0.7), WorkAllowed.LIGHT),
        ({"on_battery": "nothing"}, FakeMachine(battery=True, busy=0.7), WorkAllowed.NOTHING),
        ({"max_load": 0.8}, FakeMachine(busy=0.7), WorkAllowed.ALL),
        ({"max_load": 1}, FakeMachine(busy=1.0), WorkAllowed.ALL),
        ({}, FakeMachine(busy=None), WorkAllowed.ALL),
    ],
)
async def test_battery_and_load_decide_how_much_is_done(
    settings: dict[str, object], machine: FakeMachine, allowed: WorkAllowed
) -> None:
    assert await LoadPolicy(Idle.model_validate(settings), machine, 0.0).allowed() is allowed


async def test_this_machine_tells_something_or_allows_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = MachineLoad()
    ticks = machine.ticks()
    assert ticks is None or 0 < ticks.idle <= ticks.total
    assert await LoadPolicy(Idle(), machine, 0.001).allowed() in (
        WorkAllowed.LIGHT,
        WorkAllowed.ALL,
    )

    def unknown() -> None:
        raise NotImplementedError

    monkeypatch.setattr(psutil, "cpu_times", unknown)
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert await LoadPolicy(Idle(), machine, 0.001).allowed() is WorkAllowed.ALL
