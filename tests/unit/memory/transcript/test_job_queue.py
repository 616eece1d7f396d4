"""The durable queue of idle work: due, failed and forgotten jobs, and the queue's state after a
kill or a full disk."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.ids import subject_of
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import BACKOFF, CRASHED_ERROR, Batch, Count, JobQueue
from assistant.memory.transcript.migrations import MIGRATIONS
from tests.support.idling import NOW, copied, talked, watch

MINUTE = timedelta(minutes=1)
LONG = 2 * BACKOFF[-1]
ALL = {"describe": 10}


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


@pytest.fixture
def queue(transcript: Transcript) -> JobQueue:
    return JobQueue(transcript, "me")


def drained(queue: JobQueue, kind: str = "describe") -> list[str]:
    """The subjects of all due jobs, in order."""
    found: list[str] = []
    while (batch := queue.take({kind: 2}, NOW + LONG)) is not None:
        found += batch.subjects
        queue.done(batch)
    return found


def states(queue: JobQueue) -> dict[tuple[str, str], int]:
    return {(each.kind, each.state): each.count for each in queue.counts()}


def test_jobs_are_taken_once_in_order_and_removed_when_done(queue: JobQueue) -> None:
    assert queue.add("describe", 1, ["c", "a", "b"], NOW) == 3
    assert queue.add("describe", 1, ["b", "d"], NOW) == 1
    batch = queue.take({"describe": 3}, NOW)
    assert batch == Batch("describe", ("c", "a", "b"))
    assert queue.add("describe", 1, ["a"], NOW) == 0
    assert states(queue) == {("describe", "running"): 3, ("describe", "waiting"): 1}
    queue.done(batch)
    assert drained(queue) == ["d"]
    assert queue.counts() == []


def test_kinds_are_taken_in_the_order_requested(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a"], NOW)
    queue.add("embed", 1, ["a"], NOW)
    assert queue.take({"embed": 5, "describe": 5}, NOW) == Batch("embed", ("a",))
    assert queue.take({"embed": 5, "describe": 5}, NOW) == Batch("describe", ("a",))
    assert queue.take({"embed": 5, "describe": 5}, NOW) is None


def test_failed_jobs_are_retried_less_and_less_often_and_then_given_up(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a"], NOW)
    now = NOW
    for pause in BACKOFF:
        batch = queue.take(ALL, now)
        assert batch is not None
        assert queue.failed(batch, "ModelFailed", now) == 0
        assert queue.take(ALL, now + 0.9 * pause) is None
        now += pause
    batch = queue.take(ALL, now)
    assert batch is not None
    assert queue.failed(batch, "TimeoutError", now) == 1
    assert queue.take(ALL, now + 100 * LONG) is None
    [dead] = queue.dead(5)
    assert (dead.subject, dead.attempts, dead.error) == ("a", len(BACKOFF) + 1, "TimeoutError")
    assert queue.add("describe", 1, ["a"], now) == 0
    assert queue.retry("embed") == 0
    assert queue.retry() == 1
    assert drained(queue) == ["a"]


def test_a_failing_job_does_not_hold_up_the_rest_of_its_batch(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a", "b", "c", "d"], NOW)
    batch = queue.take({"describe": 3}, NOW)
    assert batch is not None
    queue.failed(batch, "ModelFailed", NOW)
    taken = []
    while (batch := queue.take({"describe": 3}, NOW)) is not None:
        taken.append(batch.subjects)
        queue.failed(batch, "ModelFailed", NOW) if "b" in batch.subjects else queue.done(batch)
    assert taken == [("d",), ("a",), ("b",), ("c",)]
    assert queue.take(ALL, NOW + 4 * MINUTE) is None
    assert queue.take(ALL, NOW + 5 * MINUTE) == Batch("describe", ("b",))


def test_no_job_waits_for_years_after_the_clock_is_set_back(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a"], NOW)
    batch = queue.take(ALL, NOW)
    assert batch is not None
    queue.failed(batch, "ModelFailed", NOW)
    assert queue.take(ALL, NOW) is None
    assert queue.take(ALL, NOW - timedelta(days=900)) == batch


def test_a_new_version_restarts_all_jobs_even_those_given_up(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a"], NOW)
    for _ in range(len(BACKOFF) + 1):
        batch = queue.take(ALL, NOW + LONG)
        assert batch is not None
        queue.failed(batch, "ModelFailed", NOW)
    assert queue.renew("describe", 1) == 0
    assert queue.take(ALL, NOW + LONG) is None
    assert queue.renew("describe", 2) == 1
    assert queue.known("describe") == (1, 1)
    assert drained(queue) == ["a"]


def test_jobs_of_unknown_kinds_are_dropped(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a"], NOW)
    queue.add("gossip", 1, ["a"], NOW)
    queue.keep_only(["describe", "embed"])
    assert queue.counts() == [Count("describe", "waiting", 1)]
    queue.keep_only([])
    assert queue.counts() == []


def test_users_have_separate_queues(transcript: Transcript, queue: JobQueue) -> None:
    other = JobQueue(transcript, "bob")
    for each in (queue, other):
        each.add("describe", 1, ["a"], NOW)
    batch = other.take(ALL, NOW)
    assert batch is not None
    other.pause(NOW)
    assert queue.paused() is None
    assert queue.recover(NOW) == 0
    queue.release()
    queue.done(batch)
    queue.failed(batch, "ModelFailed", NOW)
    queue.keep_only([])
    assert (queue.counts(), queue.retry(), queue.renew("describe", 9)) == ([], 0, 0)
    assert other.counts() == [Count("describe", "running", 1)]
    assert other.recover(NOW) == 1


def test_jobs_interrupted_by_a_crash_count_as_failed(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a", "b"], NOW)
    for _ in range(len(BACKOFF) + 1):
        queue.release()
        assert queue.take({"describe": 1}, NOW + LONG) == Batch("describe", ("a",))
        if queue.known("describe")[1]:
            batch = queue.take({"describe": 1}, NOW + LONG)
            assert batch == Batch("describe", ("b",))
            queue.done(batch)
        assert queue.recover(NOW) == 1
    assert [(each.subject, each.error) for each in queue.dead(9)] == [("a", CRASHED_ERROR)]


def test_released_jobs_return_to_the_queue(queue: JobQueue) -> None:
    queue.add("describe", 1, ["a", "b"], NOW)
    assert queue.take({"describe": 1}, NOW) == Batch("describe", ("a",))
    queue.release()
    assert queue.take({"describe": 2}, NOW) == Batch("describe", ("a", "b"))


def test_a_pause_survives_a_restart(transcript: Transcript, queue: JobQueue) -> None:
    assert queue.paused() is None
    queue.pause(NOW)
    queue.pause(NOW + LONG)
    transcript.close()
    with closing(Transcript.open(transcript.path)) as again:
        queue = JobQueue(again, "me")
        assert queue.paused() == NOW
        queue.resume()
        assert queue.paused() is None


# -- forgotten ----------------------------------------------------------------------------------


def test_deleting_exchanges_deletes_their_jobs(transcript: Transcript, queue: JobQueue) -> None:
    first, second, *_ = ids = talked(transcript, 4)
    [conversation] = {key for key, _ in transcript.exchanges("me", ids)}
    queue.add("describe", 1, ids, NOW)
    queue.add("facts", 1, ids, NOW)
    queue.add("summarise", 1, [subject_of(conversation, 1), subject_of("other", 1)], NOW)
    batch = queue.take({"facts": 2}, NOW)
    assert batch is not None
    transcript.delete_exchanges("me", [first])
    assert states(queue) == {
        ("describe", "waiting"): 3,
        ("facts", "running"): 1,
        ("facts", "waiting"): 2,
        ("summarise", "waiting"): 1,
    }
    assert queue.failed(batch, "ModelFailed", NOW) == 0  # the batch still names both
    assert queue.add("describe", 1, [first], NOW) == 0
    transcript.expire("me", NOW + LONG, 100)
    assert drained(queue, "summarise") == [subject_of("other", 1)]
    assert queue.counts() == []
    assert second not in transcript.texts()


def test_jobs_are_deleted_in_the_same_transaction(transcript: Transcript, queue: JobQueue) -> None:
    ids = talked(transcript, 2)
    queue.add("describe", 1, ids, NOW)

    def full(statement: str) -> None:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")

    watch(transcript, full)
    with pytest.raises(StoreError):
        transcript.delete_exchanges("me", ids[:1])
    watch(transcript, lambda _: None)
    assert transcript.exchange_ids("me") == set(ids)
    assert states(queue) == {("describe", "waiting"): 2}


def test_hidden_exchanges_are_not_processed(transcript: Transcript, queue: JobQueue) -> None:
    ids = talked(transcript, 3)
    [conversation] = {key for key, _ in transcript.exchanges("me", ids)}
    span = subject_of(conversation, 1)
    queue.add("describe", 1, ids, NOW)
    queue.add("summarise", 1, [span], NOW)
    batch = queue.take({"describe": 1}, NOW)
    assert batch is not None
    queue.failed(batch, "ModelFailed", NOW)
    hidden = HiddenItems.of("me", ids[:2], (), NOW, MINUTE)
    transcript.hide(hidden)
    assert states(queue) == {("describe", "waiting"): 1}
    assert drained(queue, "summarise") == []
    assert drained(queue) == [ids[2]]
    transcript.unhide("me", hidden.id)
    assert drained(queue) == [ids[1], ids[0]]
    assert drained(queue, "summarise") == [span]


def test_the_queue_holds_no_words_and_is_encrypted_with_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "sealed" / "transcript.sqlite3"
    path.parent.mkdir()
    with closing(Transcript.open(path, MasterKey.new())) as transcript:
        ids = talked(transcript, 1)
        queue = JobQueue(transcript, "me")
        queue.add("describe", 1, ids, NOW)
        batch = queue.take(ALL, NOW)
        assert batch is not None
        queue.failed(batch, "ModelFailed", NOW)
        assert not any(b"ModelFailed" in each.read_bytes() for each in path.parent.iterdir())
        with transcript.reading() as db:
            rows = db.execute("SELECT * FROM job").fetchall()
        assert {value for value in rows[0] if isinstance(value, str)} == {
            "me",
            "describe",
            "waiting",
            "ModelFailed",
            ids[0],
        }


STATE_TABLES = ("forgotten_state", "state_change", "state")


def test_an_older_file_is_migrated_to_have_a_queue(tmp_path: Path) -> None:
    path = tmp_path / "transcript.sqlite3"
    with closing(Transcript.open(path)) as transcript:
        ids = talked(transcript, 1)
        with transcript.writing() as db:
            for name in ("job_of_exchange", "job_of_span"):
                db.execute(f"DROP TRIGGER {name}")
            for table in ("job", "idle_pause", "derived_source", "derived", *STATE_TABLES):
                db.execute(f"DROP TABLE {table}")
            db.execute("PRAGMA user_version = 4")
    with closing(Transcript.open(path)) as transcript:
        queue = JobQueue(transcript, "me")
        assert queue.add("describe", 1, ids, NOW) == 1
        transcript.delete_exchanges("me", ids)
        assert queue.counts() == []


def test_jobs_of_spans_that_an_older_file_has_kept_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "transcript.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        for statements in MIGRATIONS[:8]:
            for statement in statements:
                db.execute(statement)
        job = "INSERT INTO job VALUES (?, 'me', ?, ?, 1, 'dead', 5, 0, 'ModelFailed', 0)"
        db.executemany(job, [(1, "summarise", subject_of("gone", 1)), (2, "describe", "x")])
        db.execute("PRAGMA user_version = 8")
        db.commit()
    with closing(Transcript.open(path)) as transcript:
        queue = JobQueue(transcript, "me")
        assert [each.subject for each in queue.dead(9)] == ["x"]
        ids = talked(transcript, 1)
        [(conversation, _)] = transcript.exchanges("me", ids)
        queue.add("summarise", 1, [subject_of(conversation, 1)], NOW)
        transcript.delete_exchanges("me", ids)
        assert states(queue) == {("describe", "dead"): 1}


# -- interrupted --------------------------------------------------------------------------------


def whole_life(transcript: Transcript, ids: list[str]) -> None:
    """Writes to the queue in every possible way."""
    queue = JobQueue(transcript, "me")
    queue.recover(NOW)
    queue.keep_only(["describe"])
    queue.add("describe", 1, ids, NOW)
    for failing in (True, False, True):
        batch = queue.take({"describe": 2}, NOW + LONG)
        assert batch is not None
        queue.failed(batch, "ModelFailed", NOW) if failing else queue.done(batch)
    queue.take(ALL, NOW + LONG)
    queue.release()
    queue.pause(NOW)
    transcript.delete_exchanges("me", ids[:1])
    queue.renew("describe", 2)
    queue.retry()
    queue.resume()


def test_the_queue_survives_a_kill_at_any_write(tmp_path: Path) -> None:
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    ids = talked(transcript, 5)
    left: list[Path] = []

    def copy(_: str) -> None:
        left.append(copied(transcript.path, tmp_path / str(len(left))))

    watch(transcript, copy)
    whole_life(transcript, ids)
    transcript.close()
    assert len(left) > 40
    for path in left:
        with closing(Transcript.open(path)) as again:
            queue = JobQueue(again, "me")
            queue.recover(NOW)
            found = states(queue)
            assert ("describe", "running") not in found
            assert sum(found.values()) <= len(ids)
            there = again.exchange_ids("me")
            queue.add("describe", 2, sorted(there), NOW)
            assert sorted(drained(queue)) == sorted(there)
            assert queue.counts() == []


def test_a_failed_write_leaves_the_queue_usable(tmp_path: Path) -> None:
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    ids = talked(transcript, 5)
    statements: list[str] = []
    watch(transcript, statements.append)
    whole_life(transcript, ids)
    transcript.close()
    for number in range(len(statements)):
        path = tmp_path / str(number) / "transcript.sqlite3"
        path.parent.mkdir()
        with closing(Transcript.open(path)) as fresh:
            again = talked(fresh, 5)
            seen: list[str] = []

            def full(statement: str, at: int = number, seen: list[str] = seen) -> None:
                seen.append(statement)
                if len(seen) == at + 1 and statement != "ROLLBACK":
                    raise sqlite3.OperationalError("disk I/O error")

            watch(fresh, full)
            with pytest.raises(StoreError, match="transcript"):
                whole_life(fresh, again)
            watch(fresh, lambda _: None)
            assert not fresh._db.in_transaction
            queue = JobQueue(fresh, "me")
            queue.recover(NOW)
            there = fresh.exchange_ids("me")
            queue.add("describe", 2, sorted(there), NOW)
            assert sorted(drained(queue)) == sorted(there)
