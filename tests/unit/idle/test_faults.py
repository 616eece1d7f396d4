"""Faults of the model, the disk and the clock during idle work: nothing is lost or duplicated, and
a turn at the same time is answered as usual.

All kinds of work that `build_jobs` builds are tested at once; a new kind needs no change here: see
`test_crash_recovery.py`.
"""

import asyncio
import resource
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import StoreError
from assistant.idle import scheduler as scheduling
from assistant.memory.transcript.job_queue import BACKOFF
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence
from tests.support.fitting_model import Fault, FaultyModel
from tests.support.idle_home import IdleHome, finished, idle_home
from tests.support.patience import LEISURE_S
from tests.support.session import Session, session

HANGING_S = 0.2
"""Seconds per subject after which hanging work is given up."""
YEAR = timedelta(days=365)


@pytest.fixture(scope="module")
def undisturbed(homes: Path) -> dict[str, Any]:
    return asyncio.run(finished(Path(shutil.copytree(homes / "fresh", homes / "done"))))


@pytest.fixture
def folder(homes: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(homes / "fresh", tmp_path / "home"))


@asynccontextmanager
async def conversation(home: IdleHome, folder: Path) -> AsyncIterator[Session]:
    """A conversation whose events the idle work sees."""
    folder.mkdir()
    async with session(ScriptedStt(), ScriptedLlm("Hi.", "Hi."), silence(0.1), folder) as talk:
        for listener in (home.quiet.watch, home.scheduler.watch):
            talk.bus.subscribe(listener)
        yield talk


async def answered(talk: Session) -> None:
    """Have a turn answered as usual."""
    before = len(talk.turns)
    await talk.loop.say("Hello?")
    async with asyncio.timeout(LEISURE_S):
        while len(talk.turns) == before:
            await asyncio.sleep(0.01)
    assert (talk.turns[-1].user, talk.turns[-1].assistant) == ("Hello?", "Hi.")


@contextmanager
def freed_in_the_end(llm: FaultyModel) -> Iterator[None]:
    """Release the hanging model at the end, as the event loop would wait for it for ever."""
    try:
        yield
    finally:
        llm.fault = None
        llm.freed.set()


@contextmanager
def running(home: IdleHome) -> Iterator[None]:
    task = asyncio.create_task(home.scheduler.run())
    try:
        yield
    finally:
        task.cancel()


# -- the model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [each for each in Fault if each is not Fault.STUBBORN])
async def test_a_failing_model_loses_no_turn_and_no_memory(
    folder: Path, tmp_path: Path, undisturbed: dict[str, Any], fault: Fault
) -> None:
    llm = FaultyModel(fault)
    patience = HANGING_S if fault is Fault.HANGS else 60.0
    async with idle_home(folder, llm, subject_s=patience) as home:
        async with conversation(home, tmp_path / "talk") as talk:
            with running(home):
                await llm.asked.wait()
                await answered(talk)
        await home.scheduler.run_until_empty()
        assert home.queue.counts() != []
        assert (await home.state())["exchanges"] == undisturbed["exchanges"]
    assert await finished(folder) == undisturbed


async def test_work_that_ignores_cancellation_is_abandoned(
    folder: Path, tmp_path: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "CANCEL_TIMEOUT_S", 0.05)
    llm = FaultyModel(Fault.STUBBORN)
    async with idle_home(folder, llm) as home:
        with freed_in_the_end(llm):
            async with conversation(home, tmp_path / "talk") as talk:
                with running(home):
                    await llm.asked.wait()
                    await answered(talk)
                    await answered(talk)
            assert await home.scheduler.run_until_empty() == 0, "no other work may start meanwhile"
        await asyncio.sleep(0.05)
        await home.until_empty()
        assert await home.state() == undisturbed


async def test_work_that_ignores_cancellation_does_not_delay_the_end(
    folder: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "CANCEL_TIMEOUT_S", 0.05)
    llm = FaultyModel(Fault.STUBBORN)
    with freed_in_the_end(llm):
        async with idle_home(folder, llm) as home:
            with running(home):
                await llm.asked.wait()
    await asyncio.sleep(0.05)
    assert await finished(folder) == undisturbed


# -- the disk -----------------------------------------------------------------------------------


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process can grow, including the transcript's file, its log and the table's
    files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


async def test_a_full_disk_loses_no_turn_and_no_memory(
    folder: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    async with idle_home(folder) as home:
        async with conversation(home, tmp_path / "talk") as talk:
            with full_disk():
                with suppress(StoreError):
                    await home.scheduler.run_until_empty()
                await answered(talk)
                assert home.scheduler.trouble is not None
        await home.until_empty()
        assert await home.state() == undisturbed


async def test_a_disk_that_fills_up_loses_no_memory(
    folder: Path, undisturbed: dict[str, Any]
) -> None:
    async with idle_home(folder) as home:
        await home.scheduler.run_until_empty(most=1)
        with full_disk(), suppress(StoreError):
            await home.scheduler.run_until_empty()
        assert home.scheduler.trouble is not None
    async with idle_home(folder) as home:
        await home.until_empty()
        assert await home.state() == undisturbed


# -- the clock ----------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [-YEAR, YEAR])
async def test_a_clock_that_jumps_loses_nothing(
    folder: Path, tmp_path: Path, undisturbed: dict[str, Any], jump: timedelta
) -> None:
    llm = FaultyModel(Fault.DIES)
    async with idle_home(folder, llm) as home:
        await home.scheduler.run_until_empty()  # some failed work now waits until a recorded time
        llm.fault = None
        home.clock[0] += jump
        await home.scheduler.retry()
        async with conversation(home, tmp_path / "talk") as talk:
            await answered(talk)
        home.clock[0] += BACKOFF[-1]
        await home.until_empty()
        assert await home.state() == undisturbed
