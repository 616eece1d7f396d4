"""Idle work, put together: the list of its kinds, and its scheduler beside a conversation or where
none runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from assistant.compose import memory_requests
from assistant.compose.engines import build_background_model, open_benchmark
from assistant.compose.memory import SessionMemory
from assistant.compose.memory_requests import RequestHandler
from assistant.encryption.vault import Vault
from assistant.events import Event, EventBus, Notice, Phase, Severity
from assistant.idle.activity import ActivityMonitor
from assistant.idle.job import Job
from assistant.idle.jobs import document_expansion
from assistant.idle.jobs.compaction import CompactionJob
from assistant.idle.jobs.consolidation import ConsolidationJob
from assistant.idle.jobs.embedding import EmbeddingJob
from assistant.idle.jobs.expansion_prompt import ABOUT, QUESTIONS
from assistant.idle.jobs.fact_extraction import FactExtractionJob
from assistant.idle.jobs.importance import ImportanceJob
from assistant.idle.jobs.speed_benchmark import Measured, Measuring
from assistant.idle.jobs.summarisation import SummarisationJob
from assistant.idle.load_policy import LoadPolicy
from assistant.idle.requests import ACT, IdleAdmin, SchedulerProxy
from assistant.idle.scheduler import Scheduler
from assistant.ipc.messages import Request, Row
from assistant.memory.due_purges import purge_due_at_start
from assistant.memory.store.location import store_location
from assistant.memory.store.repair import open_store
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import JobQueue
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Idle, Settings
from assistant.voice.background_tasks import TaskSet
from models.interfaces import LanguageModel
from models.llm.lazy import LazyLanguageModel

logger = logging.getLogger(__name__)


def consolidating_of(
    settings: Settings,
    transcript: Transcript,
    memory: UserMemory | None,
    llm: LanguageModel | None,
) -> list[Job]:
    """The work that the settings want; none where it can't be done."""
    english = settings.persona.language.partition("-")[0] in ("en", "auto")
    if settings.idle.consolidate == "off" or not english or memory is None or llm is None:
        return []
    return [ConsolidationJob(transcript, memory, llm)]


def wanted(settings: Idle) -> tuple[str, ...]:
    """What the model is to make, if anything."""
    parts = ((settings.describe, ABOUT), (settings.expand, QUESTIONS))
    return tuple(part for setting, part in parts if setting == "on")


def summarising_of(
    settings: Settings,
    transcript: Transcript,
    memory: UserMemory | None,
    llm: LanguageModel | None,
) -> list[Job]:
    """The work that the settings want; none where it can't be done."""
    how = settings.idle.summarise
    english = settings.persona.language.partition("-")[0] in ("en", "auto")
    model = llm if how == "model" else None
    if how == "off" or not english or memory is None or (how == "model" and model is None):
        return []
    return [SummarisationJob(transcript, memory, model, settings.idle.summarise_turns)]


@dataclass(frozen=True, slots=True)
class JobResources:
    """What idle work is done with: one user's.

    Args:
        memory: None where nothing is remembered beyond the conversation.
        llm: None where no model is loaded.
        measured: measures the model on whose speed the choice of a model rests; None where the
            settings choose.
        answers: takes what answers requests of commands, by their `act`.
    """

    settings: Settings
    transcript: Transcript
    memory: UserMemory | None = None
    llm: LanguageModel | None = None
    measured: Measured | None = None
    answers: dict[str, RequestHandler] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Settings,
        transcript: Transcript,
        remembering: SessionMemory | None,
        llm: LanguageModel,
        measured: Measured | None,
    ) -> "JobResources":
        """Of a running assistant."""
        if remembering is None:
            return cls(settings, transcript, None, llm, measured)
        return cls(settings, transcript, remembering.memory, llm, measured, remembering.others)


def build_jobs(parts: JobResources) -> list[Job]:
    """All kinds of idle work there are; a new one is added here."""
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
        works.append(
            document_expansion.DocumentExpansionJob(
                parts.transcript, parts.memory, parts.llm, kinds
            )
        )
    return works


class IdleService:
    """Of a running assistant."""

    def __init__(self, parts: JobResources, session: SchedulerProxy) -> None:
        self._user = parts.settings.general.user
        self._transcript = parts.transcript
        self._session = session

    def answer(self, request: Request) -> Iterator[Row]:
        """For the door, in its thread."""
        user = str(request.get("user", ""))
        own = self._session if user == self._user else None
        return IdleAdmin(JobQueue(self._transcript, user), own).carry_out(request)


def start_idle_jobs(
    parts: JobResources, bus: EventBus, stack: AsyncExitStack, *first: Callable[[], Awaitable[None]]
) -> IdleService:
    """Work while nobody speaks, from now on, if the settings want it.

    Args:
        first: wait until what else the model does between utterances is done.
    """

    async def settled() -> None:
        for each in first:
            await each()

    def failed(error: Exception) -> None:
        told = f"Work between utterances has ended ({type(error).__name__}); the log tells more."
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
    idling = IdleService(parts, session)
    parts.answers[ACT] = idling.answer
    return idling


@asynccontextmanager
async def open_idle_scheduler(
    home: Home, settings: Settings, vault: Vault, emit: Callable[[Event], None]
) -> AsyncIterator[Scheduler]:
    """The scheduler of a home in which no assistant runs.

    Args:
        vault: of the home, and left open.

    Raises:
        StoreError: the home can't be opened. StoreInUse: another process has the memories open.
        ModelError: there is no encoder.
    """
    async with AsyncExitStack() as stack:
        transcript = await asyncio.to_thread(Transcript.open, home.transcript, vault.key)
        stack.callback(transcript.close)
        memory = None
        if settings.memory.enabled:
            memory = await asyncio.to_thread(_memory, home, settings, vault, transcript)
            stack.push_async_callback(memory.close)
        llm = LazyLanguageModel(lambda: build_background_model(home, settings, logger.warning))
        stack.push_async_callback(llm.close)
        measured = await asyncio.to_thread(open_benchmark, home, settings)
        parts = JobResources(settings, transcript, memory, llm, measured)
        scheduler = _scheduler(parts, ActivityMonitor(Phase.LISTENING), emit)
        stack.push_async_callback(scheduler.close)
        yield scheduler


async def _at_once() -> None:
    """Nothing else uses the model."""


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


def _memory(home: Home, settings: Settings, vault: Vault, transcript: Transcript) -> UserMemory:
    """Loaded; what was to be forgotten by now is purged first. Blocking."""
    table = open_store(
        store_location(home, settings, vault.key), lambda notice: logger.warning("%s", notice.text)
    )
    try:
        purge_due_at_start(transcript)(table)
        encoder = memory_requests.profile_encoder(settings)
        encoder.load()
        memory = memory_requests.load_user_memory(
            settings.general.user, table, encoder, settings, transcript
        )
        memory.strengthening.begin().result()
    except BaseException:
        table.close()
        raise
    memory.store.owns_table = True
    return memory
