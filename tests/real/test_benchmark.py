"""The speed of a real model is measured on a calm machine and a busy one, and interrupted."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from assistant.errors import ModelCorrupt
from assistant.events import Phase, UserSensed
from assistant.idle.activity import ActivityMonitor
from assistant.idle.jobs.speed_benchmark import SpeedBenchmarkJob
from assistant.idle.scheduler import Scheduler
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import JobQueue
from models import catalogue
from models.download.cache import ModelStore
from models.hardware import Hardware, detect, usable_cores
from models.llm import llama_process
from models.selection import benchmark
from models.selection.benchmark import Benchmark, measure
from models.selection.machine_records import CALM_SHARE, notes_in
from models.selection.profiles import STRONG
from tests.support.idling import SETTINGS, FakePolicy
from tests.support.language import tiny_gguf
from tests.support.patience import PATIENCE_S

pytestmark = [pytest.mark.real, pytest.mark.alone]

MODEL = STRONG[1]
TRIES = 60
"""Attempts to measure, since other programs may keep the machine busy."""
BETWEEN_S = 2.0


@contextmanager
def busy() -> Iterator[None]:
    """Keep every core busy with another program."""
    programs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(usable_cores())
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


class TinyStore(ModelStore):
    """A model store that has the smallest model instead of a large one."""

    def weights(self, name: str) -> Path:
        return tiny_gguf()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """The benchmark of a machine on which the choice of a model depends on speed."""
    monkeypatch.setattr(benchmark, "to_measure", lambda *_: MODEL)
    shipped = catalogue.read()
    plain = shipped.get(MODEL).model_copy(update={"answers": None})  # its adapter fits no other
    store = TinyStore(tmp_path / "cache", catalogue.Catalogue({**shipped.models, MODEL: plain}))
    here = detect()
    hardware = Hardware(16 << 30, here.cores, apple_silicon=False)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 40))
    return Benchmark(store, hardware)


def now() -> datetime:
    return datetime.now(UTC)


def workers() -> list[psutil.Process]:
    """The model processes that this process has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "models.llm.llama_worker" in process.cmdline():
                found.append(process)
    return found


async def gone() -> None:
    async with asyncio.timeout(PATIENCE_S):
        while any(each.status() != psutil.STATUS_ZOMBIE for each in workers()):
            await asyncio.sleep(0.01)


async def test_a_measurement_is_stored_only_if_the_machine_is_calm(tiny: Benchmark) -> None:
    with busy():
        assert tiny.due(now()) == MODEL
        assert not await tiny.run(MODEL)
    assert tiny.due(now()) == MODEL
    for _ in range(TRIES):
        if await tiny.run(MODEL):
            break
        await asyncio.sleep(BETWEEN_S)
    assert tiny.due(now()) is None
    [kept] = notes_in(tiny._store.cache).measurements(tiny._hardware, MODEL)
    assert kept.share >= CALM_SHARE
    assert kept.keeps_up
    await gone()


async def test_the_model_is_really_measured() -> None:
    made = await measure(tiny_gguf(), threads=detect().threads)

    assert made.reading > 0
    assert made.writing > 0
    assert 0 < made.share < 1.2
    await gone()


@pytest.mark.parametrize("loaded", [False, True])
async def test_the_benchmark_process_is_killed_at_the_first_sign_of_a_user(
    tiny: Benchmark, tmp_path: Path, loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both while the model is loaded, and while it reads and writes."""
    begun = asyncio.Event()
    run = llama_process.Worker.run

    def noted(worker: llama_process.Worker, *args: object, **kwargs: object) -> object:
        begun.set()
        return run(worker, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(llama_process.Worker, "run", noted)
    quiet = ActivityMonitor(Phase.LISTENING)
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        queue = JobQueue(transcript, "me")
        idle = Scheduler(
            [SpeedBenchmarkJob(tiny)], queue, quiet, FakePolicy(), SETTINGS, lambda _: None
        )
        running = asyncio.create_task(idle.run_until_empty())
        async with asyncio.timeout(PATIENCE_S):
            if loaded:
                await begun.wait()
            while not workers():
                await asyncio.sleep(0.005)
            quiet.watch(UserSensed(sure=True))
            while idle.running is not None:
                await asyncio.sleep(0)
        await gone()
        running.cancel()
        await asyncio.wait([running])
        await idle.close()
        assert {(each.state, each.count) for each in queue.counts()} == {("waiting", 1)}
    assert begun.is_set() is loaded


async def test_a_damaged_model_file_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    shutil.copy(tiny_gguf(), broken)
    with broken.open("r+b") as file:
        file.truncate(1 << 20)

    with pytest.raises(ModelCorrupt):
        await measure(broken, threads=1)
    await gone()


async def test_a_measurement_that_takes_too_long_is_aborted() -> None:
    with pytest.raises(TimeoutError):
        await measure(tiny_gguf(), threads=1, longest_s=0.05)
    await gone()
