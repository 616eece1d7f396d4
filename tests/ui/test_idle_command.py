"""`assistant idle …` as a user types it, with and without a running assistant."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from functools import partial
from typing import Any

import pytest

from assistant.compose import idle
from assistant.compose.idle import JobResources, start_idle_jobs
from assistant.errors import ModelFailed, StoreError
from assistant.event_bus import EventBus
from assistant.events import Event, SpeechIgnored, TurnStarted
from assistant.idle.jobs import compaction
from assistant.ipc import RemoteError, Request, Row, run_on_loop, send_request
from assistant.ipc.server import RequestServer
from assistant.memory import open_memory
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import BACKOFF, JobQueue
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.command_line import Run, objects
from tests.support.desks import in_session, talked
from tests.support.encoders import HashingEncoder
from tests.support.idling import NOW, FakeWork


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("ui.commands.idle.ASKED_EVERY_S", 0.01)
    monkeypatch.setattr(idle, "open_benchmark", lambda *_: None)
    return partial(run, "idle")


@pytest.fixture
def work(home: Home, monkeypatch: pytest.MonkeyPatch) -> FakeWork:
    """The only kind of idle work, and three exchanges that lack its output."""
    fake = FakeWork(subjects=list(talked(home).values()))
    monkeypatch.setattr(idle, "build_jobs", lambda _: [fake])
    return fake


def asked(run: Run) -> dict[str, Any]:
    """The entry of `status` about the requested run."""
    found: dict[str, Any] = objects(run("status", "--json")[1])[0]["asked"]
    return found


def given_up(home: Home, work: FakeWork) -> None:
    """Make the queue give up the first subject, as if in an earlier session."""
    with closing(Transcript.open(home.transcript)) as transcript:
        queue = JobQueue(transcript, "me")
        queue.add(work.kind, 1, work.subjects[:1], NOW)
        for _ in range(len(BACKOFF) + 1):
            batch = queue.take({work.kind: 1}, NOW + BACKOFF[-1] * 2)
            assert batch is not None
            queue.failed(batch, "ModelFailed", NOW)


@contextmanager
def attended(home: Home, settings: Settings | None = None) -> Iterator[Callable[[Event], None]]:
    """The idle work of a running assistant, on a loop in a thread, and its request server. Yields
    a function that emits an event."""
    settings, bus = settings or Settings(), EventBus()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()
    with open_memory(home, settings, None, lambda: QueryEncoder(HashingEncoder()), print) as memory:
        parts = JobResources(settings, memory.transcript, in_session(memory))

        async def emit(event: Event) -> None:
            bus.emit(event)

        async def begin() -> Callable[[Request], Iterator[Row]]:
            return start_idle_jobs(parts, bus, stack)

        answer = run_on_loop(loop, begin())
        try:
            with closing(RequestServer(home.door, answer)):
                yield lambda event: run_on_loop(loop, emit(event))
        finally:
            run_on_loop(loop, stack.aclose())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def test_in_a_new_home_nothing_is_waiting_and_no_files_are_created(run: Run, home: Home) -> None:
    assert run("status") == (0, ["Nothing is waiting."], [])
    assert run("run", "--until-empty") == (0, ["0 done, 0 waiting."], [])
    code, out, err = run("pause")
    assert (code, out) == (5, [])
    assert "Nothing has been said yet" in err[0]
    assert not home.transcript.exists()


def test_without_a_running_assistant_the_command_does_the_work_itself(
    run: Run, work: FakeWork
) -> None:
    work.errors[work.subjects[1]] = ModelFailed("No.")
    code, out, err = run("run", "--json", "--set", "idle.batch=2")
    assert (code, err) == (0, [])
    assert objects(out) == [
        {"event": "working", "kind": "describe", "waiting": 3},
        {"event": "done", "count": 0, "waiting": 3, "given_up": 0},
    ]
    assert run("run", "--until-empty")[1] == [
        "describe … 3 waiting",
        "describe … 2 waiting",
        "describe … 1 waiting",
        "2 done, 1 waiting.",
    ]
    assert sorted(work.made) == sorted({work.subjects[0], work.subjects[2]})
    assert run("status")[1] == [
        "This work runs while an assistant is running. To run it now:",
        "→ assistant idle run --until-empty",
        "  describe           1 waiting",
    ]


def test_an_unknown_kind_is_an_error(run: Run, work: FakeWork) -> None:
    for action in ("run", "retry"):
        code, out, err = run(action, "--kind", "gossip")
        assert (code, out) == (2, [])
        assert err[0].startswith("There is no idle work of kind 'gossip'. Kinds: ")
    assert run("run", "--kind", "describe")[1][-1] == "3 done, 0 waiting."


def test_given_up_work_is_shown_and_can_be_retried(run: Run, home: Home, work: FakeWork) -> None:
    given_up(home, work)
    code, out, _ = run("status")
    assert (code, out) == (
        0,
        [
            "Nothing is waiting, 1 given up.",
            "  describe           0 waiting, 1 given up",
            "→ assistant idle retry",
            f"  given up: describe {work.subjects[0][:8]} (ModelFailed)",
        ],
    )
    assert objects(run("status", "--json")[1])[1]["error"] == "ModelFailed"
    assert run("retry", "--kind", "describe")[1] == ["1 will be retried."]
    assert run("run")[1][-1] == "3 done, 0 waiting."


def test_a_pause_lasts_until_work_is_resumed(run: Run, home: Home, work: FakeWork) -> None:
    assert run("pause")[1][0].startswith("Paused since ")
    assert objects(run("status", "--json")[1])[0]["paused"] is not None
    assert objects(run("resume", "--json")[1])[0]["paused"] is None
    assert run("status")[1] == ["Nothing is waiting."]


def test_run_tidies_memories(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    talked(home)
    assert run("run", "--until-empty")[1] == ["0 done, 0 waiting."]
    monkeypatch.setattr(compaction, "FOLDED", 1)
    assert run("run", "--until-empty")[1] == ["tidy … 1 waiting", "1 done, 0 waiting."]
    with closing(MemoryTable.open(str(home.memories))) as table:  # the command has closed the table
        assert table.count("me") == 6


def test_a_running_assistant_does_the_requested_work_itself(
    run: Run, home: Home, work: FakeWork
) -> None:
    with attended(home):
        status = objects(run("status", "--json")[1])[0]
        assert (status["attended"], status["asked"]) == (True, None)
        assert status["kinds"] == [{"kind": "describe", "waiting": 0, "given_up": 0}]
        assert run("run", "--until-empty")[1][-1] == "3 done, 0 waiting."
        assert work.made == work.subjects
        assert run("run", "--kind", "gossip")[0] == 2
        assert run("retry")[1] == ["0 will be retried."]
        assert run("pause")[1][0].startswith("Paused since ")
        assert run("resume")[1] == ["Nothing is waiting.", "  describe           0 waiting"]


def test_requested_work_waits_while_somebody_speaks_and_other_users_are_refused(
    run: Run, home: Home, work: FakeWork
) -> None:
    with attended(home) as tell:
        assert run("run", "--user", "bob")[0] == 5
        assert run("status", "--user", "bob")[1] == ["Nothing is waiting."]
        tell(TurnStarted(1))
        request = {"act": "idle", "do": "run", "user": "me"}
        assert list(send_request(home.door, request) or ()) == [{"event": "begun"}]
        assert asked(run) == {"goes_on": True, "done": 0, "failed": None}
        with pytest.raises(RemoteError, match="already running"):
            list(send_request(home.door, request) or ())
        assert work.runs == []
        tell(SpeechIgnored("noise"))
        while asked(run)["goes_on"]:
            time.sleep(0.005)
        assert asked(run)["done"] == 3
        assert work.made == work.subjects
        tell(TurnStarted(2))
        assert list(send_request(home.door, request) or ())  # closing must work during this run


def test_work_done_in_silence_does_not_count_as_requested_work(
    run: Run, home: Home, work: FakeWork
) -> None:
    settings = Settings.model_validate({"idle": {"every_s": 0.005, "max_load": 1}})
    with attended(home, settings):
        while work.made != work.subjects:
            time.sleep(0.005)
        work.subjects = [*work.subjects, "another"]
        work.on_run = lambda: time.sleep(0.05)
        done = int(run("run", "--until-empty")[1][-1].split()[0])
        assert done == asked(run)["done"] <= 1


def test_a_failing_store_ends_the_run_requested_from_a_running_assistant(
    run: Run, home: Home, work: FakeWork
) -> None:
    work.errors[work.subjects[1]] = StoreError("The disk is full.", mend="Make room.")
    with attended(home):
        code, out, err = run("run", "--until-empty")
        assert (code, err) == (5, ["The disk is full.", "→ Make room."])
        assert "done" not in "".join(out)
        assert asked(run)["failed"] == {"message": "The disk is full.", "mend": "Make room."}


def test_idle_work_is_done_while_nobody_speaks_unless_it_is_off(home: Home, work: FakeWork) -> None:
    settings = Settings.model_validate({"idle": {"every_s": 0.005, "max_load": 1}})
    done = threading.Event()
    work.on_run = done.set
    with attended(home, settings):
        assert done.wait(5)
    work.made.clear()
    done.clear()
    off = Settings.model_validate({"idle": {"every_s": 0.005, "enabled": False}})
    with attended(home, off):
        assert not done.wait(0.05)
