"""The long-term memory of a running assistant, put together: what is remembered at the end of an
exchange, what is recalled for the next one, and what goes on beside the conversation."""

import asyncio
import gc
import logging
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from assistant.compose.memory_requests import (
    MemoryRequests,
    RequestHandler,
    load_user_memory,
    profile_encoder,
)
from assistant.context.short_term import ShortTermMemory
from assistant.errors import ModelError, StoreError
from assistant.events import (
    Event,
    EventBus,
    ForgettingBegan,
    ForgettingDone,
    Notice,
    ProfileChanged,
    Severity,
)
from assistant.ipc.server import RequestServer
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.due_purges import purge_due_at_start
from assistant.memory.forgetting.executor import ForgettingExecutor, LiveConversation, done
from assistant.memory.forgetting.offline_executor import InSession
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.retention import Retention
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import new_id
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.capacity import CapacityWarnings
from assistant.memory.store.location import StoreLocation
from assistant.memory.store.repair import open_store
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive, TurnRecall
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice.dialogue import Dialogue

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """One user's. What it opens is closed with `stack`."""

    home: Home
    place: StoreLocation
    settings: Settings
    bus: EventBus
    memory: UserMemory
    transcript: Transcript
    stack: AsyncExitStack
    others: dict[str, RequestHandler] = field(default_factory=dict)
    """What commands may ask beside the memories, by the request's `act`; to be filled before
    `begin`."""

    @property
    def archive(self) -> Archive:
        """Where exchanges are kept: in the transcript, and remembered."""
        return Archive(self.transcript, self.memory)

    def recaller(self, window: ShortTermMemory) -> TurnRecall:
        """What recalls for the loop; `window` tells what the prompt holds anyway."""
        recollection = TurnRecall(
            self.memory,
            window.shown,
            lambda: window.conversation.exchanges,
            self.settings.memory.least_score,
        )
        self.stack.callback(self.bus.subscribe(recollection.watch))
        limits = CapacityWarnings(
            self.place.folder or self.home.root, self.memory.count, self.bus.emit
        )
        self.stack.callback(self.bus.subscribe(limits.watch))
        return recollection

    def begin(self, dialogue: Dialogue, forgetting: ForgettingExecutor) -> None:
        """Read the memories and let commands reach them, beside the conversation: nobody waits for
        LanceDB to be imported."""

        def follow(event: Event) -> None:
            if isinstance(event, ProfileChanged):
                dialogue.refresh()

        self.stack.callback(self.bus.subscribe(follow))
        self.stack.callback(asyncio.create_task(self._open(dialogue, forgetting)).cancel)

    async def _open(self, dialogue: Dialogue, forgetting: ForgettingExecutor) -> None:
        """Read the memories, and let `assistant memory` reach them while this process has them."""
        loop, emit = asyncio.get_running_loop(), _from_threads(self.bus)

        def gone(hidden: HiddenItems, receipt: Receipt) -> None:
            if hidden.user == self.memory.user_id:
                emit(done(hidden, receipt))

        def elsewhere(user: str, exchanges: Collection[str]) -> None:
            if user == self.memory.user_id:
                loop.call_soon_threadsafe(_forgotten_elsewhere, exchanges, dialogue, self.bus)

        first = purge_due_at_start(self.transcript, done=gone, on_gone=elsewhere)
        await self.memory.load(self.transcript, first)
        gc.collect()
        # To look through 100,000 memories for garbage takes 0.17 s, in which nobody is heard.
        gc.freeze()
        self.stack.callback(gc.unfreeze)  # or what is forgotten later would stay after a restart
        self.memory.strengthening.begin()
        _begin_forgetting(forgetting, self.bus, self.stack)
        await self.memory.writable.wait()  # until then the commands open the memories themselves
        try:
            hiding = InSession(forgetting, loop)
            parts = (self.memory, self.transcript, self._another_users, self.settings, hiding)
            desks = MemoryRequests(*parts, others=self.others)
            door = await asyncio.to_thread(RequestServer, self.home.door, desks.answer)
        except StoreError as error:
            logger.error("commands can't reach the memories: %s", error)
            return
        self.stack.push_async_callback(asyncio.to_thread, door.close)

    def _another_users(self, user: str) -> UserMemory:
        encoder = profile_encoder(self.settings)
        encoder.load()
        return load_user_memory(user, self.memory.table, encoder, self.settings, self.transcript)


def start_session_memory(
    remembering: SessionMemory | None,
    dialogue: Dialogue,
    forgetting: ForgettingExecutor,
    bus: EventBus,
    stack: AsyncExitStack,
) -> None:
    """Read the memories, where there are any, and purge what is due, from now on."""
    if remembering is not None:
        remembering.begin(dialogue, forgetting)
    else:
        _begin_forgetting(forgetting, bus, stack)


def _begin_forgetting(forgetting: ForgettingExecutor, bus: EventBus, stack: AsyncExitStack) -> None:
    """What is due is purged from now on; what was at the start is known to be gone."""

    async def run() -> None:
        try:
            await forgetting.load()
        except StoreError as error:
            bus.emit(Notice(str(error), Severity.WARNING, error.mend))
        await forgetting.run()

    stack.callback(asyncio.create_task(run()).cancel)


def _forgotten_elsewhere(
    exchanges: Collection[str], window: LiveConversation, bus: EventBus
) -> None:
    """Some of them may be of the conversation that goes on."""
    window.forget(exchanges)
    window.drop(exchanges)
    key = new_id()
    bus.emit(ForgettingBegan(key, tuple(sorted(exchanges)), (), datetime.now(UTC)))
    bus.emit(ForgettingDone(key))
    what = "1 exchange" if len(exchanges) == 1 else f"{len(exchanges):,} exchanges"
    bus.emit(Notice(f"Forgotten on another machine, and now here as well: {what}."))


async def build_session_memory(
    home: Home,
    settings: Settings,
    bus: EventBus,
    place: StoreLocation,
    transcript: Transcript,
    stack: AsyncExitStack,
) -> SessionMemory | None:
    """Nothing is read yet; None where memory is switched off or has no encoder."""
    if not settings.memory.enabled:
        return None
    try:
        encoder = await asyncio.to_thread(profile_encoder, settings)
    except ModelError as error:
        told = f"{error} Nothing is remembered beyond the conversation."
        bus.emit(Notice(told, Severity.WARNING, error.mend))
        return None
    memory = UserMemory(
        settings.general.user,
        partial(open_store, place, _from_threads(bus)),
        encoder,
        TextAnalyzer(settings.persona.language),
        Ranking(),
        bus.emit,
        tiers=Tiers.of(settings.memory),
        policy=CurationPolicy.of(settings.memory),
        enrichment=ExpansionWeights.of(settings.idle),
    )
    stack.push_async_callback(memory.close)
    return SessionMemory(home, place, settings, bus, memory, transcript, stack)


def start_retention(
    settings: Settings,
    transcript: Transcript,
    running: str,
    remembering: SessionMemory | None,
    stack: AsyncExitStack,
) -> None:
    """Let old conversations go, where the settings say so.

    Args:
        running: the id of the conversation that goes on.
    """
    if settings.transcript.keep_days is None:
        return

    def stored() -> bool:
        """What is not in the store yet is not to be lost with its source."""
        if remembering is None:
            return not settings.memory.enabled
        return remembering.memory.store.settled

    retention = Retention(transcript, settings, running, stored)
    stack.callback(asyncio.create_task(retention.run()).cancel)


def _from_threads(bus: EventBus) -> Callable[[Event], None]:
    """As `bus.emit`, for threads."""
    loop = asyncio.get_running_loop()

    def tell(event: Event) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(bus.emit, event)

    return tell
