"""Failures in idle work: of its subjects, models, stores and process."""

import asyncio
import gc
from contextlib import suppress
from datetime import timedelta

import pytest

from assistant.errors import ModelFailed, StoreError
from assistant.events import Latency, Notice, TurnEnded, TurnStarted
from assistant.idle import backlog
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import BACKOFF
from tests.support.idling import NOW, Bench, FakeWork, running, talked, until

ENDED = TurnEnded(1, "hi", "there", False, Latency())


# -- failures -----------------------------------------------------------------------------------


async def test_a_failing_subject_is_finally_given_up_and_the_others_are_done(
    transcript: Transcript, caplog: pytest.LogCaptureFixture
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
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text
    [notice] = bench.of(Notice)
    assert notice.mend == "assistant idle retry"
    del work.errors[ids[1]]
    assert await bench.scheduler.retry("embed") == 0
    assert await bench.scheduler.retry() == 1
    assert await bench.scheduler.run_until_empty() == 1


async def test_a_kind_that_always_fails_is_paused_without_giving_up_subjects(
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


async def test_hanging_work_is_cancelled_and_counts_as_failed(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 1), holds=True)
    bench = Bench(transcript, [work], subject_s=0.01)
    assert await bench.scheduler.run_until_empty() == 0
    assert work.cancelled == 1
    assert bench.states() == {("describe", "waiting"): 1}
    assert bench.queue.take({"describe": 1}, NOW) is None  # waits for its back-off


async def test_an_error_while_work_is_being_stopped_is_not_counted_as_a_failure(
    transcript: Transcript,
) -> None:
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


async def test_work_that_cancels_itself_counts_as_failed(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 1))
    work.errors[work.subjects[0]] = asyncio.CancelledError()
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.cancelled == 1 and bench.scheduler.running is None)
        await asyncio.sleep(0.02)
    assert len(work.runs) == 1
    assert bench.queue.take({"describe": 1}, NOW) is None  # waits for its back-off


async def test_a_failing_store_is_reported_once_and_retried(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    work.errors[""] = StoreError("The disk is full.", mend="Free some space.")
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked >= 3)
        [notice] = bench.of(Notice)
        assert "The disk is full." in notice.text
        assert notice.mend == "Free some space."
        assert str(bench.scheduler.trouble) == str(work.errors.pop(""))
        bench.bus.emit(ENDED)
        await until(lambda: work.made == work.subjects)
        assert not bench.scheduler.trouble
    assert len(bench.of(Notice)) == 2


async def test_a_failing_store_does_not_delay_other_kinds(transcript: Transcript) -> None:
    ids = talked(transcript, 2)
    broken, other = FakeWork(priority=1, subjects=ids), FakeWork("embed", subjects=ids)
    broken.errors[ids[0]] = StoreError("The bucket is unreachable.")
    bench = Bench(transcript, [broken, other])
    with pytest.raises(StoreError, match="bucket"):
        await bench.scheduler.run_until_empty()
    async with running(bench):
        await until(lambda: bench.states() == {("describe", "waiting"): 2})
    assert (len(broken.runs), other.made) == (1, ids)
    assert bench.states() == {("describe", "waiting"): 2}
    assert bench.queue.take({"describe": 9}, NOW) is not None  # no attempt was counted


async def test_an_error_while_looking_for_work_does_not_end_the_scheduler(
    transcript: Transcript,
) -> None:
    work = FakeWork(subjects=talked(transcript, 2))
    work.errors[""] = KeyError("x")
    bench = Bench(transcript, [work])
    async with running(bench):
        await until(lambda: work.asked >= 2)
        del work.errors[""]
        await until(lambda: work.made == work.subjects)


@pytest.mark.parametrize("broken", ["take", "done", "failed", "counts", "known", "add", "paused"])
async def test_a_queue_that_fails_at_any_call_loses_and_repeats_no_work(
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


async def test_work_that_keeps_killing_the_process_is_finally_given_up(
    transcript: Transcript,
) -> None:
    ids = talked(transcript, 1)
    for death in range(len(BACKOFF) + 1):
        dying = FakeWork(subjects=ids, holds=True)
        bench = Bench(transcript, [dying])
        bench.now += death * BACKOFF[-1]
        assert bench.queue.recover(bench.now) == (death > 0)
        bench.now += BACKOFF[-1]
        task = asyncio.create_task(bench.scheduler.run())
        await dying.busy.wait()
        task.cancel()  # never closed, as if the process had been killed
        with suppress(asyncio.CancelledError):
            await task
        del bench, task
    gc.collect()
    bench = Bench(transcript, [FakeWork(subjects=ids)])
    assert await bench.scheduler.run_until_empty() == 0
    assert bench.states() == {("describe", "dead"): 1}


async def test_closing_stops_the_work_and_requeues_it(transcript: Transcript) -> None:
    work = FakeWork(subjects=talked(transcript, 2), holds=True)
    bench = Bench(transcript, [work])
    waiting = asyncio.create_task(bench.scheduler.run_until_empty())
    await work.busy.wait()
    await bench.scheduler.close()
    assert await waiting == 0
    assert bench.states() == {("describe", "waiting"): 2}
