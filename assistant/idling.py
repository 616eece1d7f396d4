"""Idle work, put together: the list of its kinds, and its scheduler beside a conversation or where
none runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from assistant import desks
from assistant.desks import Answer
from assistant.encryption import Vault
from assistant.engines import background_model, open_benchmark
from assistant.events import Event, EventBus, Notice, Phase, Severity
from assistant.idle import describing
from assistant.idle.consolidating import consolidating_of
from assistant.idle.embedding import Embedding
from assistant.idle.extracting import Extracting
from assistant.idle.job import Work
from assistant.idle.measuring import Measured, Measuring
from assistant.idle.policy import Policy
from assistant.idle.queue import JobQueue
from assistant.idle.quiet import Quiet
from assistant.idle.requests import ACT, IdleDesk, InSession, Request, Row
from assistant.idle.scheduler import Scheduler
from assistant.idle.summarising import summarising_of
from assistant.idle.tidying import Tidying
from assistant.idle.weighing import Weighing
from assistant.memory.long_term import LongTermMemory
from assistant.memory.place import open_place, place_of
from assistant.memory.transcript import Transcript
from assistant.on_demand import OnDemand
from assistant.paths import Home
from assistant.purging import purged_first
from assistant.remembering import Remembering
from assistant.settings import Settings
from assistant.voice.background import Background
from models.interfaces import LanguageModel

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
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
    memory: LongTermMemory | None = None
    llm: LanguageModel | None = None
    measured: Measured | None = None
    answers: dict[str, Answer] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Settings,
        transcript: Transcript,
        remembering: Remembering | None,
        llm: LanguageModel,
        measured: Measured | None,
    ) -> "Parts":
        """Of a running assistant."""
        if remembering is None:
            return cls(settings, transcript, None, llm, measured)
        return cls(settings, transcript, remembering.memory, llm, measured, remembering.others)


def kinds_of(parts: Parts) -> list[Work]:
    """All kinds of idle work there are; a new one is added here."""
    works: list[Work] = []
    if parts.memory is not None:
        works += [Embedding(parts.memory.strengthening), Tidying(parts.memory)]
    if parts.measured is not None:
        works.append(Measuring(parts.measured))
    extract = parts.settings.idle.extract
    english = parts.settings.persona.language.partition("-")[0] in ("en", "auto")
    judge = parts.llm if extract == "model" else None
    if extract != "off" and english and parts.memory and (judge or extract == "rules"):
        works.append(Extracting(parts.transcript, parts.memory, judge))
    if parts.settings.idle.importance == "on" and parts.memory is not None:
        works.append(Weighing(parts.transcript, parts.memory))
    works += summarising_of(parts.settings, parts.transcript, parts.memory, parts.llm)
    works += consolidating_of(parts.settings, parts.transcript, parts.memory, parts.llm)
    wanted = describing.wanted(parts.settings.idle)
    if wanted and english and parts.memory and parts.llm:
        works.append(describing.Describing(parts.transcript, parts.memory, parts.llm, wanted))
    return works


class Idling:
    """Of a running assistant."""

    def __init__(self, parts: Parts, session: InSession) -> None:
        self._user = parts.settings.general.user
        self._transcript = parts.transcript
        self._session = session

    def answer(self, request: Request) -> Iterator[Row]:
        """For the door, in its thread."""
        user = str(request.get("user", ""))
        own = self._session if user == self._user else None
        return IdleDesk(JobQueue(self._transcript, user), own).carry_out(request)


def begin_idling(
    parts: Parts, bus: EventBus, stack: AsyncExitStack, *first: Callable[[], Awaitable[None]]
) -> Idling:
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

    quiet = Quiet(Phase.LISTENING)
    scheduler = _scheduler(parts, quiet, bus.emit, settled)
    session = InSession(scheduler, asyncio.get_running_loop())
    for listener in (quiet.watch, scheduler.watch):
        stack.callback(bus.subscribe(listener))
    stack.push_async_callback(session.close)
    if parts.settings.idle.enabled:
        running = Background(failed)
        running.start(scheduler.run())
        stack.callback(running.cancel)
    idling = Idling(parts, session)
    parts.answers[ACT] = idling.answer
    return idling


@asynccontextmanager
async def open_idling(
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
        llm = OnDemand(lambda: background_model(home, settings, logger.warning))
        stack.push_async_callback(llm.close)
        measured = await asyncio.to_thread(open_benchmark, home, settings)
        parts = Parts(settings, transcript, memory, llm, measured)
        scheduler = _scheduler(parts, Quiet(Phase.LISTENING), emit)
        stack.push_async_callback(scheduler.close)
        yield scheduler


async def _at_once() -> None:
    """Nothing else uses the model."""


def _scheduler(
    parts: Parts,
    quiet: Quiet,
    emit: Callable[[Event], None],
    settled: Callable[[], Awaitable[None]] = _at_once,
) -> Scheduler:
    if parts.memory is not None:
        parts.memory.give_way(lambda: not quiet.now)
    return Scheduler(
        kinds_of(parts),
        JobQueue(parts.transcript, parts.settings.general.user),
        quiet,
        Policy(parts.settings.idle),
        parts.settings.idle,
        emit,
        settled=settled,
    )


def _memory(home: Home, settings: Settings, vault: Vault, transcript: Transcript) -> LongTermMemory:
    """Loaded; what was to be forgotten by now is purged first. Blocking."""
    table = open_place(
        place_of(home, settings, vault.key), lambda notice: logger.warning("%s", notice.text)
    )
    try:
        purged_first(transcript)(table)
        encoder = desks.profile_encoder(settings)
        encoder.load()
        memory = desks.load_memory(settings.general.user, table, encoder, settings, transcript)
        memory.strengthening.begin().result()
    except BaseException:
        table.close()
        raise
    memory.store.owns_table = True
    return memory
