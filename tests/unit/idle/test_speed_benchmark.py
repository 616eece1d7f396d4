"""The idle work that measures the language model's speed, and when it measures."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from assistant.compose.engines import chooses_model, open_benchmark
from assistant.compose.idle import JobResources, build_jobs
from assistant.events import Phase, UserSensed
from assistant.idle.activity import ActivityMonitor
from assistant.idle.jobs.speed_benchmark import AGAIN_S, LOOK_S, SpeedBenchmarkJob
from assistant.idle.scheduler import Scheduler
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import JobQueue
from assistant.paths import Home
from assistant.settings import Settings
from models import hardware
from models.download.cache import ModelStore
from models.selection.benchmark import Benchmark
from models.selection.profiles import STRONG
from tests.support.hub_server import hub_server
from tests.support.idling import NOW, SETTINGS, FakePolicy, until
from tests.support.small_store import LAPTOP, SHRUNK_FILES, shrunk_store

CODER = STRONG[1]


@dataclass
class FakeBenchmark(Benchmark):
    """A benchmark that is due until its model was measured on a calm machine."""

    model: str | None = "large"
    calm: bool = True
    holds: bool = False
    asked: int = 0
    runs: list[str] = field(default_factory=list)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    killed: int = 0

    def due(self, now: datetime) -> str | None:
        self.asked += 1
        return self.model

    async def run(self, model: str) -> bool:
        self.runs.append(model)
        self.busy.set()
        try:
            if self.holds:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.killed += 1
            raise
        if self.calm:
            self.model = None
        return self.calm


def scheduler(transcript: Transcript, work: SpeedBenchmarkJob, quiet: ActivityMonitor) -> Scheduler:
    return Scheduler(
        [work], JobQueue(transcript, "me"), quiet, FakePolicy(), SETTINGS, lambda _: None
    )


async def test_a_measurement_on_a_calm_machine_is_made_once(transcript: Transcript) -> None:
    fake = FakeBenchmark()
    idle = scheduler(transcript, SpeedBenchmarkJob(fake), ActivityMonitor(Phase.LISTENING))

    assert await idle.run_until_empty() == 1
    assert await idle.run_until_empty() == 0
    assert fake.runs == ["large"]


async def test_a_measurement_on_a_busy_machine_is_repeated_and_not_counted_as_failed(
    transcript: Transcript,
) -> None:
    fake, now = FakeBenchmark(calm=False), [0.0]
    idle = scheduler(
        transcript, SpeedBenchmarkJob(fake, clock=lambda: now[0]), ActivityMonitor(Phase.LISTENING)
    )
    for _ in range(8):  # more attempts than failing work would get
        assert await idle.run_until_empty() == 1
        assert idle.queue.counts() == []
        now[0] += AGAIN_S - 1
        assert await idle.run_until_empty() == 0
        now[0] += 1
    fake.calm = True

    assert await idle.run_until_empty() == 1
    assert len(fake.runs) == 9


async def test_the_job_seldom_checks_whether_a_measurement_is_due(transcript: Transcript) -> None:
    fake, now = FakeBenchmark(model=None), [0.0]
    work = SpeedBenchmarkJob(fake, clock=lambda: now[0])
    for _ in range(5):
        assert await work.missing(10) == ()
    assert fake.asked == 1
    now[0] += LOOK_S
    await work.missing(10)

    assert fake.asked == 2


async def test_a_model_that_another_process_has_measured_is_skipped() -> None:
    fake = FakeBenchmark()
    work = SpeedBenchmarkJob(fake)
    subjects = await work.missing(10)
    fake.model = None
    await work.run(subjects)

    assert fake.runs == []


async def test_a_measurement_ends_as_soon_as_somebody_speaks(transcript: Transcript) -> None:
    fake, quiet = FakeBenchmark(holds=True), ActivityMonitor(Phase.LISTENING)
    idle = scheduler(transcript, SpeedBenchmarkJob(fake), quiet)
    running = asyncio.create_task(idle.run_until_empty())
    await fake.busy.wait()
    quiet.watch(UserSensed(sure=True))
    await until(lambda: fake.killed == 1)
    await until(lambda: idle.running is None)
    running.cancel()
    await asyncio.wait([running])
    await idle.close()
    assert {(each.state, each.count) for each in idle.queue.counts()} == {("waiting", 1)}


def test_a_measurement_is_not_light_work() -> None:
    assert not SpeedBenchmarkJob(FakeBenchmark()).light


# -- when there is something to measure ---------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        ({}, True),
        ({"llm": {"engine": "llama.cpp", "threads": 2}}, True),
        ({"general": {"profile": "small"}}, False),
        ({"general": {"profile": "tiny"}}, False),
        ({"llm": {"model": CODER}}, False),
        ({"llm": {"endpoint": "http://127.0.0.1:11434/v1"}}, False),
    ],
)
def test_speed_is_measured_only_if_it_decides_which_model_is_used(
    transcript: Transcript, home: Home, settings: dict[str, object], chosen: bool
) -> None:
    wanted = Settings.model_validate(settings)
    measured = open_benchmark(home, wanted)
    parts = JobResources(wanted, transcript, measured=measured)

    assert chooses_model(wanted) is chosen
    assert [each.kind for each in build_jobs(parts)] == (["measure"] if chosen else [])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ModelStore]:
    with hub_server(SHRUNK_FILES) as hub:
        store = shrunk_store(tmp_path / "cache", hub.url)
        store.pull([CODER])
        yield store


def test_a_second_copy_of_the_model_needs_free_memory(
    store: ModelStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = store.catalogue.get(CODER).ram_mb << 20
    free = [needed - 1]
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free[0]))
    benchmark = Benchmark(store, LAPTOP)

    with caplog.at_level("INFO"):
        assert benchmark.due(NOW) is None
    assert "not enough memory is free" in caplog.text
    free[0] = needed
    assert benchmark.due(NOW) == CODER


# -- a container's share of the processor -------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        (["150000 100000"], 1.5),
        (["max 100000"], None),
        (["200000", "100000"], 2.0),
        (["-1", "100000"], None),
        (["rubbish"], None),
    ],
)
def test_a_containers_processor_quota_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], cores: float | None
) -> None:
    paths = tuple(tmp_path / f"file{number}" for number in range(len(files)))
    for path, text in zip(paths, files, strict=True):
        path.write_text(f"{text}\n")
    monkeypatch.setattr(hardware, "CGROUP_QUOTAS", ((tmp_path / "absent",), paths))

    assert hardware.processor_quota() == cores
