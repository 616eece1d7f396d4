"""The activity monitor, which decides by the events whether it is quiet."""

import asyncio
from collections.abc import Callable

import pytest

from assistant.event_bus import EventBus
from assistant.events import (
    Event,
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
def test_only_phases_without_hearing_or_answering_are_quiet(phase: Phase) -> None:
    expected = phase.value in ("listening", "asleep", "muted", "paused")
    assert watched(PhaseChanged(phase)).now == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), False),  # the assistant is just starting
        ((LISTENING,), True),
        ((LISTENING, MicrophoneLevel(-3.0)), True),
        ((LISTENING, UserSensed()), False),
        ((LISTENING, UserSensed(sure=True)), False),
        ((LISTENING, TurnStarted(1)), False),
        ((LISTENING, TurnStarted(1), HEARING, SpeechIgnored("noise"), LISTENING), True),
        # While the assistant is asleep, a voice does not change the phase.
        ((PhaseChanged(Phase.ASLEEP), UserSensed(sure=True)), False),
        ((PhaseChanged(Phase.ASLEEP), UserSensed(sure=True), SpeechIgnored("asleep")), True),
        # A user who interrupts an answer keeps speaking after the answer has ended.
        ((PhaseChanged(Phase.SPEAKING), TurnStarted(2), LISTENING), False),
        ((PhaseChanged(Phase.SPEAKING), TurnStarted(2), LISTENING, TurnHeard(2, "no")), True),
        ((LISTENING, TurnHeard(1, "hi"), PhaseChanged(Phase.THINKING)), False),
    ],
)
def test_events_tell_whether_somebody_speaks_or_waits(
    events: tuple[Event, ...], expected: bool
) -> None:
    assert watched(*events).now == expected


def test_an_unconfirmed_voice_times_out_soon_and_a_confirmed_one_eventually() -> None:
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


def test_listeners_are_called_synchronously_with_the_event() -> None:
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


async def test_waiting_for_quiet_starts_again_after_each_sign_of_speech() -> None:
    quiet = watched(clock=asyncio.get_running_loop().time)
    waiting = asyncio.create_task(quiet.lasting(0.02))
    await asyncio.sleep(0.03)
    assert not waiting.done()  # it has not been quiet yet
    quiet.watch(LISTENING)
    since = quiet.clock()
    await asyncio.sleep(0.01)
    quiet.watch(TurnStarted(1))
    quiet.watch(SpeechIgnored("noise"))  # waiting starts again here
    since = quiet.clock()
    await waiting
    assert quiet.clock() - since >= 0.019


async def test_a_caller_can_ignore_quiet_before_a_given_time() -> None:
    clock = asyncio.get_running_loop().time
    quiet = watched(LISTENING, clock=clock)
    await asyncio.sleep(0.005)
    await quiet.lasting(0.005)  # returns at once
    until = [float("inf")]
    waiting = asyncio.create_task(quiet.lasting(0.0, lambda: until[0]))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    until[0] = clock()
    quiet.look_again()
    await waiting
