"""The scheduler runs batches while it is quiet, and stops at the first sign of speech."""

import asyncio

import pytest

from assistant.errors import ModelFailed
from assistant.events import (
    Event,
    ForgettingBegan,
    IdleWork,
    Latency,
    Phase,
    PhaseChanged,
    SpeechIgnored,
    TurnEnded,
    TurnStarted,
    UserSensed,
)
from assistant.idle import backlog
from assistant.idle.load_policy import WorkAllowed
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.settings import Idle
from tests.support.idling import NOW, Bench, FakeWork, running, talked, until

ENDED = TurnEnded(1, "hi", "there", False, Latency())


async def test_missing_output_is_produced_in_batches_by_priority(transcript: Transcript) -> None:
    ids = talked(transcript, 3)
    late = FakeWork("embed", priority=9, subjects=ids)
    first = FakeWork("describe", priority=1, subjects=ids)
    bench = Bench(transcript, [late, first])
    async with running(bench):
        await until(lambda: late.made == ids and bench.scheduler.running is None)
    assert first.runs == late.runs == [(ids[0], ids[1]), (ids[2],)]
    told = [(event.kind, event.waiting) for event in bench.of(IdleWork)]
    assert told == [
        ("describe", 6),
        (None, 4),
        ("describe", 4),
        (None, 3),
        ("embed", 3),
        (None, 1),
        ("embed", 1),
        (None, 0),
    ]
    assert bench.queue.counts() == []
    assert bench.scheduler.backlog.finished == 6


@pytest.mark.parametrize("sign", [UserSensed(), UserSensed(sure=True), TurnStarted(1)])
async def test_the_first_sign_of_speech_cancels_the_work_synchronously(
    transcript: Transcript, sign: Event
) -> None:
    work = FakeWork(subjects=talked(transcript, 4), holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        task = bench.scheduler._task
        assert task is not None
        assert task.cancelling() == 0
        bench.bus.emit(sign)
        assert task.cancelling() == 1  # cancelled without awaiting anything
        bench.bus.emit(sign)
        assert task.cancelling() == 1  # a second sign must not disturb the clean-up
        await asyncio.sleep(0)
        assert (work.running, work.cancelled) == (0, 1)
        await until(lambda: bench.scheduler.running is None)
        assert bench.of(IdleWork)[-1].kind is None
        assert len(bench.scheduler.yields) == 1
    assert bench.states() == {("describe", "waiting"): 4}
    assert bench.queue.take({"describe": 9}, NOW) is not None  # no attempt was counted


async def test_no_work_runs_until_it_is_quiet_again(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    work = FakeWork(subjects=ids, holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        bench.bus.emit(TurnStarted(1))
        bench.bus.emit(PhaseChanged(Phase.HEARING))
        work.holds, looked = False, work.asked
        waiting = asyncio.create_task(bench.scheduler.run_until_empty())
        await asyncio.sleep(0.02)
        assert (work.runs, work.asked) == ([tuple(ids)], looked), "a requested run must wait too"
        bench.bus.emit(SpeechIgnored("noise"))
        bench.bus.emit(PhaseChanged(Phase.LISTENING))
        await waiting
        await until(lambda: work.made == ids)
    assert work.runs == [tuple(ids)] * 2


async def test_a_sign_of_speech_stops_the_search_for_work_too(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    bench = Bench(transcript, [work])
    asked = asyncio.Event()

    async def missing(limit: int) -> list[str]:
        asked.set()
        await asyncio.Event().wait()
        return []

    work.missing = missing  # type: ignore[method-assign]
    async with running(bench):
        await asked.wait()
        bench.bus.emit(TurnStarted(1))
        await until(lambda: bench.scheduler._task is None)
    assert work.runs == []


async def test_work_on_an_exchange_being_forgotten_stops_at_once(
    transcript: Transcript,
) -> None:
    ids = talked(transcript, 2)
    work = FakeWork(subjects=ids, holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        hidden = HiddenItems.of("me", ids[:1], (), NOW)
        transcript.hide(hidden)
        bench.bus.emit(ForgettingBegan(hidden.id, hidden.exchanges, (), NOW))
        await asyncio.sleep(0)
        assert work.cancelled == 1
        work.holds = False
        await until(lambda: work.made == ids[1:])
        transcript.delete_exchanges("me", ids[:1])
        assert await bench.scheduler.run_until_empty() == 0
    assert work.runs == [tuple(ids), (ids[1],)]
    assert bench.queue.counts() == []


# -- requested runs -----------------------------------------------------------------------------


async def test_requested_work_ignores_quiet_time_pause_and_load(transcript: Transcript) -> None:
    ids = talked(transcript, 5)
    describe, embed = FakeWork(subjects=ids), FakeWork("embed", subjects=ids[:1])
    bench = Bench(transcript, [describe, embed], settings=Idle(every_s=3600, batch=2))
    bench.policy.says = WorkAllowed.NOTHING
    await bench.scheduler.pause()
    assert await bench.scheduler.run_until_empty("describe", most=1) == 2
    assert await bench.scheduler.run_until_empty("describe") == 3
    assert (describe.made, embed.made) == (ids, [])
    assert await bench.scheduler.run_until_empty() == 1
    assert await bench.scheduler.run_until_empty("gossip") == 0


async def test_all_work_is_done_even_if_it_does_not_fit_into_the_queue(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "FILLED", 3)
    monkeypatch.setattr(backlog, "AT_ONCE", 2)
    work = FakeWork(subjects=[str(number) for number in range(11)])
    work.errors = {"0": ModelFailed("No."), "1": ModelFailed("No.")}
    bench = Bench(transcript, [work])
    assert await bench.scheduler.run_until_empty() == 9
    assert work.made == work.subjects[2:]
    assert bench.states() == {("describe", "waiting"): 2}


async def test_a_requested_run_finds_work_that_no_event_announced(
    transcript: Transcript,
) -> None:
    ids = talked(transcript, 4)
    work = FakeWork(subjects=ids[:2])
    bench = Bench(transcript, [work])
    assert await bench.scheduler.run_until_empty() == 2
    work.subjects = ids  # for example by an import
    assert await bench.scheduler.run_until_empty() == 2
    assert work.made == ids


async def test_recurring_work_is_done_between_batches_of_other_work(transcript: Transcript) -> None:
    ids = talked(transcript, 6)
    tidy = FakeWork("tidy", priority=1, recurs=True)
    describe = FakeWork(subjects=ids)
    at: list[int] = []
    tidy.on_run = lambda: at.append(len(describe.made))

    def upset() -> None:
        if len(describe.made) == 2:
            tidy.subjects = ["all"]

    describe.on_run = upset
    bench = Bench(transcript, [describe, tidy], settings=Idle(every_s=0.01, batch=2))
    assert await bench.scheduler.run_until_empty() == len(ids) + 1
    assert at == [4], "recurring work must not wait for all other work"


# -- pause, battery, settings -------------------------------------------------------------------


async def test_a_pause_stops_the_work_and_lasts_beyond_the_session(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    work = FakeWork(subjects=ids, holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        await bench.scheduler.pause()
        await until(lambda: work.cancelled == 1)
    work.holds = False
    bench = Bench(transcript, [work])
    async with running(bench):
        await asyncio.sleep(0.03)
        assert work.made == []
        await bench.scheduler.resume()
        await until(lambda: work.made == ids)


async def test_on_battery_only_light_work_is_done(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    heavy, light = FakeWork(priority=1, subjects=ids), FakeWork("embed", light=True, subjects=ids)
    bench = Bench(transcript, [heavy, light])
    bench.policy.says = WorkAllowed.LIGHT
    async with running(bench):
        await until(lambda: light.made == ids)
        bench.policy.says = WorkAllowed.NOTHING
        light.made.clear()
        bench.bus.emit(ENDED)
        await asyncio.sleep(0.02)
        assert (heavy.runs, light.runs) == ([], [tuple(ids)])
        bench.policy.says = WorkAllowed.ALL
        bench.bus.emit(ENDED)
        await until(lambda: heavy.made == light.made == ids)


async def test_a_new_exchange_makes_the_scheduler_look_again(transcript: Transcript) -> None:
    work = FakeWork(subjects=[])
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked > 0)
        work.subjects += talked(transcript, 1)
        bench.bus.emit(ENDED)
        await until(lambda: work.made == work.subjects)
