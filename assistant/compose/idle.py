"""Builds the jobs of idle work and their scheduler, for a running assistant or without one."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from assistant.compose.engines import build_background_model, open_benchmark
from assistant.compose.memory import log_notice, open_home_memory
from assistant.encryption import Vault
from assistant.events import Event, EventBus, Notice, Phase, Severity
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
    Measured,
    Measuring,
    Scheduler,
    SchedulerProxy,
    SummarisationJob,
)
from assistant.ipc import Request, Row
from assistant.memory import JobQueue, Transcript, UserMemory
from assistant.paths import Home
from assistant.settings import Idle, Settings
from assistant.voice import TaskSet
from models.interfaces import LanguageModel
from models.llm import LazyLanguageModel

logger = logging.getLogger(__name__)


def consolidating_of(
    settings: Settings,
    transcript: Transcript,
    memory: UserMemory | None,
    llm: LanguageModel | None,
) -> list[Job]:
    """The job, if the settings want it and it is possible."""
    english = settings.persona.language.partition("-")[0] in ("en", "auto")
    if settings.idle.consolidate == "off" or not english or memory is None or llm is None:
        return []
    return [ConsolidationJob(transcript, memory, llm)]


def wanted(settings: Idle) -> tuple[str, ...]:
    """The parts that the model is to write, if any."""
    parts = ((settings.describe, ABOUT), (settings.expand, QUESTIONS))
    return tuple(part for setting, part in parts if setting == "on")


def summarising_of(
    settings: Settings,
    transcript: Transcript,
    memory: UserMemory | None,
    llm: LanguageModel | None,
) -> list[Job]:
    """The job, if the settings want it and it is possible."""
    how = settings.idle.summarise
    english = settings.persona.language.partition("-")[0] in ("en", "auto")
    model = llm if how == "model" else None
    if how == "off" or not english or memory is None or (how == "model" and model is None):
        return []
    return [SummarisationJob(transcript, memory, model, settings.idle.summarise_turns)]


@dataclass(frozen=True, slots=True)
class JobResources:
    """What one user's idle jobs need.

    Args:
        memory: None if nothing is remembered beyond the conversation.
        llm: None if no model is loaded.
        measured: the benchmark of the language models' speed, for choosing one; None if the
            settings name it.
    """

    settings: Settings
    transcript: Transcript
    memory: UserMemory | None = None
    llm: LanguageModel | None = None
    measured: Measured | None = None


def build_jobs(parts: JobResources) -> list[Job]:
    """All jobs that the settings want. A new kind is added here."""
    works: list[Job] = []
    if parts.memory is not None:
        works += [EmbeddingJob(parts.memory.strengthening), CompactionJob(parts.memory)]
    if parts.measured is not None:
        works.append(Measuring(parts.measured))
    extract = parts.settings.idle.extract
    english = parts.settings.persona.language.partition("-")[0] in ("en", "auto")
    judge = parts.llm if extract == "model" else None
    if extract != "off" and english and parts.memory and (judge or extract == "rules"):
        works.append(FactExtractionJob(parts.transcript, parts.memory, judge))
    if parts.settings.idle.importance == "on" and parts.memory is not None:
        works.append(ImportanceJob(parts.transcript, parts.memory))
    works += summarising_of(parts.settings, parts.transcript, parts.memory, parts.llm)
    works += consolidating_of(parts.settings, parts.transcript, parts.memory, parts.llm)
    kinds = wanted(parts.settings.idle)
    if kinds and english and parts.memory and parts.llm:
        works.append(DocumentExpansionJob(parts.transcript, parts.memory, parts.llm, kinds))
    return works


class IdleService:
    """Answers requests about a running assistant's idle work."""

    def __init__(self, parts: JobResources, session: SchedulerProxy) -> None:
        self._user = parts.settings.general.user
        self._transcript = parts.transcript
        self._session = session

    def answer(self, request: Request) -> Iterator[Row]:
        """Answer a request; called in the request server's thread."""
        user = str(request.get("user", ""))
        own = self._session if user == self._user else None
        return IdleAdmin(JobQueue(self._transcript, user), own).carry_out(request)


def start_idle_jobs(
    parts: JobResources, bus: EventBus, stack: AsyncExitStack, *first: Callable[[], Awaitable[None]]
) -> IdleService:
    """Start idle work, if the settings want it.

    Args:
        first: wait until the model's other work between utterances is done.
    """

    async def settled() -> None:
        for each in first:
            await each()

    def failed(error: Exception) -> None:
        told = f"Background work has ended ({type(error).__name__}). See the log for details."
        bus.emit(Notice(told, Severity.WARNING))

    quiet = ActivityMonitor(Phase.LISTENING)
    scheduler = _scheduler(parts, quiet, bus.emit, settled)
    session = SchedulerProxy(scheduler, asyncio.get_running_loop())
    for listener in (quiet.watch, scheduler.watch):
        stack.callback(bus.subscribe(listener))
    stack.push_async_callback(session.close)
    if parts.settings.idle.enabled:
        running = TaskSet(failed)
        running.start(scheduler.run())
        stack.callback(running.cancel)
    return IdleService(parts, session)


@contextmanager
def open_idle_admin(home: Home, settings: Settings, vault: Vault) -> Iterator[IdleAdmin]:
    """Manage the idle work of a home in which no assistant runs. Blocking.

    Args:
        vault: the home's; stays open.

    Raises:
        StoreError: the home can't be opened.
    """
    with open_home_memory(home, settings, vault.key, log_notice) as memory:
        yield IdleAdmin(JobQueue(memory.transcript, settings.general.user))


@asynccontextmanager
async def open_idle_scheduler(
    home: Home, settings: Settings, vault: Vault, emit: Callable[[Event], None]
) -> AsyncIterator[Scheduler]:
    """The scheduler of a home in which no assistant runs.

    Args:
        vault: the home's; stays open.

    Raises:
        StoreError: the home can't be opened. StoreInUse: another process has the memories open.
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


async def _at_once() -> None:
    """Default for `settled`: nothing else uses the model."""


def _scheduler(
    parts: JobResources,
    quiet: ActivityMonitor,
    emit: Callable[[Event], None],
    settled: Callable[[], Awaitable[None]] = _at_once,
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
