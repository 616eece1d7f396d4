"""The scheduler: batches while it is quiet, and none from the first sign of somebody."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import ModelFailed, StoreError
from assistant.events import (
    Event,
    EventBus,
    ForgettingBegan,
    IdleWork,
    Latency,
    Notice,
    Phase,
    PhaseChanged,
    SpeechIgnored,
    TurnEnded,
    TurnStarted,
    UserSensed,
)
from assistant.idle import backlog
from assistant.idle.job import Work
from assistant.idle.policy import Allowed, Policy
from assistant.idle.queue import BACKOFF, JobQueue
from assistant.idle.quiet import Quiet
from assistant.idle.scheduler import Scheduler
from assistant.memory.forgetting_marks import Hidden
from assistant.memory.transcript import Transcript
from assistant.settings import Idle
from tests.support.idling import NOW, FakeWork, talked

ENDED = TurnEnded(1, "hi", "there", False, Latency())
SETTINGS = Idle(every_s=0.005, batch=2)


class FakePolicy(Policy):
    def __init__(self) -> None:
        self.says = Allowed.ALL

    async def allowed(self) -> Allowed:
        return self.says


@dataclass
class Bench:
    """A quiet session of which nothing is real but queue and scheduler."""

    transcript: Transcript
    works: list[FakeWork]
    settings: Idle = SETTINGS
    bus: EventBus = field(default_factory=EventBus)
    events: list[Event] = field(default_factory=list)
    policy: FakePolicy = field(default_factory=FakePolicy)
    now: datetime = NOW
    subject_s: float = 5.0

    def __post_init__(self) -> None:
        self.queue = JobQueue(self.transcript, "me")
        self.quiet = Quiet()
        kinds: list[Work] = [*self.works]
        self.scheduler = Scheduler(
            kinds,
            self.queue,
            self.quiet,
            self.policy,
            self.settings,
            self.bus.emit,
            now=lambda: self.now,
            subject_s=self.subject_s,
        )
        for listener in (self.quiet.watch, self.scheduler.watch, self.events.append):
            self.bus.subscribe(listener)
        self.bus.emit(PhaseChanged(Phase.LISTENING))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def states(self) -> dict[tuple[str, str], int]:
        return {(each.kind, each.state): each.count for each in self.queue.counts()}


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.scheduler.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await bench.scheduler.close()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.001)


async def test_what_is_missing_is_made_in_batches_by_priority(transcript: Transcript) -> None:
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
async def test_the_first_sign_of_somebody_stops_it_within_the_event(
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
        assert task.cancelling() == 1  # nothing had to be awaited for that
        bench.bus.emit(sign)
        assert task.cancelling() == 1  # it may clear up in peace
        await asyncio.sleep(0)
        assert (work.running, work.cancelled) == (0, 1)
        await until(lambda: bench.scheduler.running is None)
        assert bench.of(IdleWork)[-1].kind is None
        assert len(bench.scheduler.yields) == 1
    assert bench.states() == {("describe", "waiting"): 4}
    assert bench.queue.take({"describe": 9}, NOW) is not None  # no attempt was counted


async def test_it_goes_on_once_it_has_been_quiet_again(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    work = FakeWork(subjects=ids, holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        bench.bus.emit(TurnStarted(1))
        bench.bus.emit(PhaseChanged(Phase.HEARING))
        work.holds = False
        await asyncio.sleep(0.02)
        assert work.runs == [tuple(ids)]
        bench.bus.emit(SpeechIgnored("noise"))
        bench.bus.emit(PhaseChanged(Phase.LISTENING))
        await until(lambda: work.made == ids)
    assert work.runs == [tuple(ids)] * 2


async def test_nothing_begins_while_somebody_speaks(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    bench = Bench(transcript, [work])
    bench.bus.emit(TurnStarted(1))
    async with running(bench):
        waiting = asyncio.create_task(bench.scheduler.run_until_empty())
        await asyncio.sleep(0.02)
        assert (work.runs, work.asked) == ([], 0)
        bench.bus.emit(SpeechIgnored("noise"))
        await waiting
    assert work.made == work.subjects


async def test_a_sign_in_the_middle_of_looking_stops_it_too(transcript: Transcript) -> None:
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


async def test_what_is_being_forgotten_is_let_go_of_at_once_and_not_taken_up(
    transcript: Transcript,
) -> None:
    ids = talked(transcript, 2)
    work = FakeWork(subjects=ids, holds=True)
    bench = Bench(transcript, [work])
    async with running(bench):
        await work.busy.wait()
        hidden = Hidden.of("me", ids[:1], (), NOW)
        transcript.hide(hidden)
        bench.bus.emit(ForgettingBegan(hidden.id, hidden.exchanges, (), NOW))
        await asyncio.sleep(0)
        assert work.cancelled == 1
        work.holds = False
        await until(lambda: work.made == ids[1:])
        transcript.forget("me", ids[:1])
        assert await bench.scheduler.run_until_empty() == 0
    assert work.runs == [tuple(ids), (ids[1],)]
    assert bench.queue.counts() == []


# -- until it is empty --------------------------------------------------------------------------


async def test_all_of_it_is_done_without_waiting_when_somebody_asks(transcript: Transcript) -> None:
    ids = talked(transcript, 5)
    describe, embed = FakeWork(subjects=ids), FakeWork("embed", subjects=ids[:1])
    bench = Bench(transcript, [describe, embed], settings=Idle(every_s=3600, batch=2))
    bench.policy.says = Allowed.NOTHING
    await bench.scheduler.pause()
    assert await bench.scheduler.run_until_empty("describe", most=1) == 2
    assert await bench.scheduler.run_until_empty("describe") == 3
    assert (describe.made, embed.made) == (ids, [])
    assert await bench.scheduler.run_until_empty() == 1
    assert await bench.scheduler.run_until_empty("gossip") == 0


async def test_more_than_fits_the_queue_is_done_as_well(
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


# -- pause, battery, settings -------------------------------------------------------------------


async def test_a_pause_stops_it_and_outlives_the_session(transcript: Transcript) -> None:
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
    bench.policy.says = Allowed.LIGHT
    async with running(bench):
        await until(lambda: light.made == ids)
        bench.policy.says = Allowed.NOTHING
        light.made.clear()
        bench.bus.emit(ENDED)
        await asyncio.sleep(0.02)
        assert (heavy.runs, light.runs) == ([], [tuple(ids)])
        bench.policy.says = Allowed.ALL
        bench.bus.emit(ENDED)
        await until(lambda: heavy.made == light.made == ids)


async def test_a_new_exchange_is_worked_on_though_nothing_was_due(transcript: Transcript) -> None:
    work = FakeWork(subjects=[])
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked > 0)
        work.subjects += talked(transcript, 1)
        bench.bus.emit(ENDED)
        await until(lambda: work.made == work.subjects)


# -- failures -----------------------------------------------------------------------------------


async def test_a_subject_that_fails_is_given_up_in_the_end_and_the_others_done(
    transcript: Transcript,
) -> None:
    ids = talked(transcript, 4)
    work = FakeWork(subjects=ids)
    work.errors[ids[1]] = ValueError("the secret word")
    bench = Bench(transcript, [work])
    for _ in range(len(BACKOFF) + 1):
        await bench.scheduler.run_until_empty()
        bench.now += BACKOFF[-1]
    assert sorted(work.made) == sorted(set(ids) - {ids[1]})
    assert bench.states() == {("describe", "dead"): 1}
    assert [each.error for each in bench.queue.dead(9)] == ["ValueError"]
    [notice] = bench.of(Notice)
    assert notice.mend == "assistant idle retry"
    del work.errors[ids[1]]
    assert await bench.scheduler.retry("embed") == 0
    assert await bench.scheduler.retry() == 1
    assert await bench.scheduler.run_until_empty() == 1


async def test_no_word_of_an_error_is_logged(
    transcript: Transcript, caplog: pytest.LogCaptureFixture
) -> None:
    work = FakeWork(subjects=talked(transcript, 1))
    work.errors[work.subjects[0]] = ValueError("the secret word")
    await Bench(transcript, [work]).scheduler.run_until_empty()
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_kind_of_work_that_always_fails_rests_and_gives_nothing_up(
    transcript: Transcript,
) -> None:
    broken = FakeWork(priority=1, subjects=talked(transcript, 9))
    broken.errors = {subject: ModelFailed("It is down.") for subject in broken.subjects}
    other = FakeWork("embed", subjects=["a"])
    bench = Bench(transcript, [broken, other])
    assert await bench.scheduler.run_until_empty() == 1
    assert len(broken.runs) == backlog.IN_A_ROW
    assert bench.scheduler.backlog.resting == {"describe"}
    assert await bench.scheduler.run_until_empty() == 0
    assert len(broken.runs) == backlog.IN_A_ROW
    broken.errors.clear()
    await bench.scheduler.retry()
    bench.now += timedelta(hours=1)
    await bench.scheduler.run_until_empty()
    assert sorted(broken.made) == sorted(broken.subjects)


async def test_what_hangs_is_cancelled_and_counts_as_failed(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 1), holds=True)
    bench = Bench(transcript, [work], subject_s=0.01)
    assert await bench.scheduler.run_until_empty() == 0
    assert work.cancelled == 1
    assert bench.states() == {("describe", "waiting"): 1}
    assert bench.queue.take({"describe": 1}, NOW) is None  # it has to wait


async def test_work_that_fails_as_it_is_stopped_has_not_failed(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 1))
    bench = Bench(transcript, [work])
    began = asyncio.Event()

    async def run(subjects: object) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise ModelFailed("It was cut off.") from error

    work.run = run  # type: ignore[method-assign]
    async with running(bench):
        await began.wait()
        bench.bus.emit(TurnStarted(1))
        await until(lambda: bench.scheduler.running is None)
    assert bench.queue.take({"describe": 1}, NOW) is not None


async def test_a_store_that_fails_is_told_of_once_and_tried_again(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    work.errors[""] = StoreError("The disk is full.", mend="Free some space.")
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked >= 3)
        [notice] = bench.of(Notice)
        assert "The disk is full." in notice.text
        assert notice.mend == "Free some space."
        assert bench.scheduler.trouble is work.errors.pop("")
        bench.bus.emit(ENDED)
        await until(lambda: work.made == work.subjects)
        assert bench.scheduler.trouble is None
    assert len(bench.of(Notice)) == 2


async def test_the_store_of_one_kind_of_work_holds_up_no_other(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    broken, other = FakeWork(priority=1, subjects=ids), FakeWork("embed", subjects=ids)
    broken.errors[ids[0]] = StoreError("The bucket is away.")
    bench = Bench(transcript, [broken, other])
    with pytest.raises(StoreError, match="bucket"):
        await bench.scheduler.run_until_empty()
    async with running(bench):
        await until(lambda: bench.states() == {("describe", "waiting"): 2})
    assert (len(broken.runs), other.made) == (1, ids)
    assert bench.states() == {("describe", "waiting"): 2}
    assert bench.queue.take({"describe": 9}, NOW) is not None  # nobody was to blame


async def test_a_mistake_in_looking_does_not_end_it(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    work.errors[""] = KeyError("x")
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked >= 2)
        del work.errors[""]
        await until(lambda: work.made == work.subjects)


@pytest.mark.parametrize("broken", ["take", "done", "failed", "counts", "known", "add", "paused"])
async def test_a_queue_that_fails_at_any_call_loses_and_doubles_nothing(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    ids = talked(transcript, 4)
    work = FakeWork(subjects=ids)
    work.errors[ids[2]] = ModelFailed("No.")
    bench = Bench(transcript, [work])

    def fail(*_: object) -> None:
        raise StoreError("The transcript is in use by another program.")

    async with running(bench):
        with monkeypatch.context() as patch:
            patch.setattr(bench.queue, broken, fail)
            await until(lambda: bench.scheduler.trouble is not None)
        bench.bus.emit(ENDED)
        await until(lambda: sorted(work.made) == sorted(set(ids) - {ids[2]}))
        await until(lambda: bench.scheduler.trouble is None)
    assert len(set(work.made)) == len(work.made)
    assert ("describe", "running") not in bench.states()
    del work.errors[ids[2]]
    bench.now += BACKOFF[-1]
    again = Bench(transcript, [work])
    again.now = bench.now
    await again.scheduler.run_until_empty()
    assert sorted(work.made) == sorted(ids)
    assert again.queue.counts() == []


async def test_what_the_last_process_died_of_is_not_tried_for_ever(transcript: Transcript) -> None:
    ids = talked(transcript, 1)
    for death in range(len(BACKOFF) + 1):
        dying = FakeWork(subjects=ids, holds=True)
        bench = Bench(transcript, [dying])
        bench.now += death * BACKOFF[-1]
        assert bench.queue.recover(bench.now) == (death > 0)
        bench.now += BACKOFF[-1]
        task = asyncio.create_task(bench.scheduler.run())
        await dying.busy.wait()
        task.cancel()  # and nobody closes it, as if the process had been killed
        with suppress(asyncio.CancelledError):
            await task
        del bench, task
    gc.collect()
    bench = Bench(transcript, [FakeWork(subjects=ids)])
    assert await bench.scheduler.run_until_empty() == 0
    assert bench.states() == {("describe", "dead"): 1}


async def test_closing_stops_it_and_puts_it_back(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2), holds=True)
    bench = Bench(transcript, [work])
    waiting = asyncio.create_task(bench.scheduler.run_until_empty())
    await work.busy.wait()
    await bench.scheduler.close()
    assert await waiting == 0
    assert bench.states() == {("describe", "waiting"): 2}
