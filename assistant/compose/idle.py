"""Creates the idle jobs and their scheduler, for a running assistant or for a command."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from assistant.compose.engines import build_background_model, open_benchmark
from assistant.compose.memory import log_notice, open_home_memory
from assistant.encryption import Vault
from assistant.event_bus import EventBus
from assistant.events import Event, Notice, Phase, Severity
from assistant.idle import (
    ABOUT,
    QUESTIONS,
    ActivityMonitor,
    CompactionJob,
    ConsolidationJob,
    DocumentExpansionJob,
    EmbeddingJob,
    FactExtractionJob,
    IdleAdmin,
    ImportanceJob,
    Job,
    LoadPolicy,
    Scheduler,
    SpeedBenchmarkJob,
    SummarisationJob,
)
from assistant.ipc import Request, Row
from assistant.memory import JobQueue, Transcript, UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice import TaskSet
from models.interfaces import LanguageModel
from models.llm import LazyLanguageModel
from models.selection import Benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobResources:
    """The resources that one user's idle jobs need.

    Args:
        memory: the user's long-term memory; None if it is switched off.
        llm: None if no language model is available.
        measured: the speed benchmark on which the choice of the language model is based; None if
            this program does not choose the model.
    """

    settings: Settings
    transcript: Transcript
    memory: UserMemory | None = None
    llm: LanguageModel | None = None
    measured: Benchmark | None = None


def build_jobs(parts: JobResources) -> list[Job]:
    """Create all jobs that the settings enable and whose resources are available. Add new kinds of
    job here."""
    settings, memory, llm = parts.settings.idle, parts.memory, parts.llm
    jobs: list[Job] = []
    if memory is not None:
        jobs += [EmbeddingJob(memory), CompactionJob(memory)]
    if parts.measured is not None:
        jobs.append(SpeedBenchmarkJob(parts.measured))
    if memory is None:
        return jobs
    english = parts.settings.persona.language.partition("-")[0] in ("en", "auto")

    def possible(how: str) -> bool:
        return english and (how == "rules" or (how == "model" and llm is not None))

    if possible(settings.extract):
        model = llm if settings.extract == "model" else None
        jobs.append(FactExtractionJob(parts.transcript, memory, model))
    if settings.importance == "on":
        jobs.append(ImportanceJob(parts.transcript, memory))
    if possible(settings.summarise):
        model = llm if settings.summarise == "model" else None
        jobs.append(SummarisationJob(parts.transcript, memory, model, settings.summarise_turns))
    if english and llm is not None:
        if settings.consolidate == "on":
            jobs.append(ConsolidationJob(parts.transcript, memory, llm))
        texts = ((settings.describe, ABOUT), (settings.expand, QUESTIONS))
        if wanted := tuple(text for setting, text in texts if setting == "on"):
            jobs.append(DocumentExpansionJob(parts.transcript, memory, llm, wanted))
    return jobs


def start_idle_jobs(
    parts: JobResources, bus: EventBus, stack: AsyncExitStack, *first: Callable[[], Awaitable[None]]
) -> Callable[[Request], Iterator[Row]]:
    """Start idle work, if the settings enable it. Return the function that answers requests about
    idle work. That function must be called in a thread of the request server.

    Args:
        first: functions that wait until the language model's more urgent background work is done.
            They are awaited before each batch.
    """

    async def settled() -> None:
        for each in first:
            await each()

    def failed(error: Exception) -> None:
        why = f"Background work has ended ({type(error).__name__}). See the log for details."
        bus.emit(Notice(why, Severity.WARNING))

    quiet = ActivityMonitor(Phase.LISTENING)
    scheduler = _scheduler(parts, quiet, bus.emit, settled)
    admin = IdleAdmin(parts.transcript, scheduler, parts.settings.general.user)
    for listener in (quiet.watch, scheduler.watch):
        stack.callback(bus.subscribe(listener))
    stack.push_async_callback(admin.close)
    if parts.settings.idle.enabled:
        running = TaskSet(failed)
        running.start(scheduler.run())
        stack.callback(running.cancel)
    return admin.carry_out


@contextmanager
def open_idle_admin(home: Home, settings: Settings, vault: Vault) -> Iterator[IdleAdmin]:
    """Open the administration of idle work for a home in which no assistant runs. Blocking.

    Args:
        vault: the home's vault; stays open.

    Raises:
        StoreError: the home can't be opened.
    """
    with open_home_memory(home, settings, vault.key, log_notice) as memory:
        yield IdleAdmin(memory.transcript)


@asynccontextmanager
async def open_idle_scheduler(
    home: Home, settings: Settings, vault: Vault, emit: Callable[[Event], None]
) -> AsyncIterator[Scheduler]:
    """Open the scheduler of a home in which no assistant runs.

    Args:
        vault: the home's vault; stays open.

    Raises:
        StoreError: the home can't be opened.
        StoreInUse: another process has the memories open.
        ModelError: there is no encoder.
    """
    async with AsyncExitStack() as stack:
        memory = await asyncio.to_thread(open_home_memory, home, settings, vault.key, log_notice)
        stack.push_async_callback(asyncio.to_thread, memory.close)
        remembered: UserMemory | None = None
        if settings.memory.enabled:
            remembered = await asyncio.to_thread(memory.user, settings.general.user)
            await asyncio.to_thread(remembered.strengthening.begin().result)
        llm = LazyLanguageModel(lambda: build_background_model(home, settings, logger.warning))
        stack.push_async_callback(llm.close)
        measured = await asyncio.to_thread(open_benchmark, home, settings)
        parts = JobResources(settings, memory.transcript, remembered, llm, measured)
        scheduler = _scheduler(parts, ActivityMonitor(Phase.LISTENING), emit)
        stack.push_async_callback(scheduler.close)
        yield scheduler


def _scheduler(
    parts: JobResources,
    quiet: ActivityMonitor,
    emit: Callable[[Event], None],
    settled: Callable[[], Awaitable[None]] | None = None,
) -> Scheduler:
    if parts.memory is not None:
        parts.memory.give_way(lambda: not quiet.now)
    return Scheduler(
        build_jobs(parts),
        JobQueue(parts.transcript, parts.settings.general.user),
        quiet,
        LoadPolicy(parts.settings.idle),
        parts.settings.idle,
        emit,
        settled=settled,
    )
