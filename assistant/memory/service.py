"""The memory of one home. Only this module builds and connects the parts of memory."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self

from assistant.context import Exchange, Importance, no_importance
from assistant.encryption import MasterKey
from assistant.errors import ModelError, StoreDamaged
from assistant.events import Event, MemoryUsed, Notice, Severity
from assistant.language.stemming import TextAnalyzer
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.curation.importance import importance_of_exchanges
from assistant.memory.forgetting.elsewhere import forgotten_elsewhere
from assistant.memory.forgetting.executor import (
    ForgettingExecutor,
    HidesItems,
    LiveConversation,
    done,
)
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.purge import purge_due_at_start
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.forgetting.retention import expire_daily
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.reranking import Reranking
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.capacity import CapacityWarnings
from assistant.memory.store.location import StoreLocation, store_location
from assistant.memory.store.repair import open_store
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive, TurnRecall
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings

logger = logging.getLogger(__name__)

BuildEncoder = Callable[[], QueryEncoder]
"""Builds an encoder without loading it. May raise ModelError."""


def open_memory(
    home: Home,
    settings: Settings,
    key: MasterKey | None,
    build_encoder: BuildEncoder,
    emit: Callable[[Event], None],
) -> "MemoryService":
    """Open the transcript. The store is opened when it is first used. Blocking.

    Args:
        key: the key of an encrypted home.
        build_encoder: called once for each user whose memories need an encoder.
        emit: receives events for the user interface; may be called by any thread.

    Raises:
        StoreError: the transcript can't be opened. StoreBusy: another program is using it.
        SettingsError: the setting `memory.store` is invalid.
    """
    location = store_location(home, settings, key)
    transcript = Transcript.open(home.transcript, key)
    return MemoryService(location, settings, transcript, build_encoder, emit)


class MemoryService:
    """One transcript and one store, for any number of users.

    A session calls `prepare` and `start`; its user's memory then keeps the store open. For a
    command without a session, the store is opened when it is first used. In both cases, deletions
    whose grace period is over are purged before any memory is read.

    Never call a blocking method on the event loop, or from two threads at a time.
    """

    def __init__(
        self,
        location: StoreLocation,
        settings: Settings,
        transcript: Transcript,
        build_encoder: BuildEncoder,
        emit: Callable[[Event], None],
    ) -> None:
        self.transcript = transcript
        self.session_user: UserMemory | None = None
        """The long-term memory of the session's user; None without a session, or if nothing is
        remembered beyond the conversation."""
        self.session_forgetting: ForgettingExecutor | None = None
        self.state_outlines: Callable[[str], Mapping[str, Memory]] = lambda _: {}
        """Returns the entries of a user's state, for requests to forget."""
        self._location = location
        self._settings = settings
        self._build_encoder = build_encoder
        self._emit = emit
        self._user = settings.general.user
        self._table: MemoryTable | None = None
        self._users: dict[str, UserMemory] = {}
        self._admins: dict[str, MemoryAdmin] = {}
        self._watchers: list[Callable[[Event], None]] = []

    # -- for sessions and commands; blocking -----------------------------------------------------

    @property
    def table(self) -> MemoryTable:
        """The open table.

        Raises:
            StoreError: the table can't be opened, or is still loading. StoreInUse: another process
                is using it.
        """
        if self.session_user is not None:
            table = self.session_user.table
            if table is not self._table:  # the store was opened or reopened
                self._let_go()
                self._table = table
        elif self._table is None:
            self._table = self._opened()
        return self._table

    def user(self, user: str) -> UserMemory:
        """Return a user's long-term memory, loaded. Raises StoreError if the store can't be read,
        and ModelError if the encoder can't be loaded."""
        if self.session_user is not None and user == self._user:
            return self.session_user
        table = self.table
        if user not in self._users:
            encoder = self._build_encoder()
            try:
                encoder.load()
            except ModelError:
                encoder.close()
                raise
            # The service closes the table itself.
            memory = self._user_memory(user, lambda: table, encoder, _log, lambda _: None)
            asyncio.run(memory.load(self.transcript))
            self._users[user] = memory
        return self._users[user]

    def admin(self, user: str) -> MemoryAdmin:
        """Return the operations on a user's memories that a user interface offers. Raises
        StoreError if the store can't be opened."""
        table = self.table
        if user not in self._admins:
            own = self.session_user is not None and user == self._user
            self._admins[user] = MemoryAdmin(
                user,
                table,
                lambda: self.transcript,
                partial(self.user, user),
                memory=self.session_user if own else None,
                lifetimes=Lifetimes.of(self._settings.memory),
                folder=self._location.folder,
                lexicon=self._lexicon(),
                forgetting=self.session_forgetting if own else None,
                grace_s=self._settings.forget.grace_s,
                state=self._state_of(user),
            )
        return self._admins[user]

    def answer(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Carry out a request about one user's memories. Before that, purge all users' deletions
        whose grace period is over.

        Raises:
            AssistantError: see `admin_requests.handle_request`; raised by this call or while
                iterating.
        """
        table = self.table
        for user in self.transcript.hiding() if table.refused is None else ():
            forgetting = self.admin(user).forgetting
            if not forgetting.attended:  # a session purges on its own
                forgetting.wait_for(forgetting.purge_due())
        return handle_request(self.admin(str(request.get("user", ""))), request)

    # -- for a session --------------------------------------------------------------------------

    def prepare(self) -> None:
        """Build the long-term memory of the session's user if the settings enable it and there is
        an encoder. Reads nothing yet. Blocking."""
        if not self._settings.memory.enabled:
            return
        try:
            encoder = self._build_encoder()
        except ModelError as error:
            text = f"{error} Nothing will be remembered beyond this conversation."
            self._emit(Notice(text, Severity.WARNING, error.mend))
            return
        opened = partial(open_store, self._location, self._emit)
        self.session_user = self._user_memory(self._user, opened, encoder, self._emit)

    def attend(
        self, live: LiveConversation, quiet: Callable[[], Awaitable[object]], *more: HidesItems
    ) -> ForgettingExecutor:
        """Create the session's executor for forgetting. Call this on the session's event loop.
        `quiet` waits until nobody speaks. `more` are other objects that must hide items."""
        memory = self.session_user
        self.session_forgetting = ForgettingExecutor(
            self.transcript,
            self._memory_access(),
            [live, *more] if memory is None else [memory, live, *more],
            grace_s=self._settings.forget.grace_s,
            quiet=quiet,
            live=live,
            emit=self._emit,
        )
        return self.session_forgetting

    def session_resolver(self) -> Resolver:
        """Return the resolver of the session's requests to forget."""
        return Resolver(self.transcript, self._memory_access(), self._lexicon())

    def forget_questions(self) -> None:
        """Drop the cached vectors of all questions asked in the session."""
        if self.session_user is not None:
            self.session_user.forget_questions()

    async def start(self, live: LiveConversation) -> None:
        """Load the memories and purge deletions whose grace period is over. Until this is done,
        recall finds nothing."""
        if self.session_user is None:
            return
        loop = asyncio.get_running_loop()

        def gone(hidden: HiddenItems, receipt: Receipt) -> None:
            if hidden.user == self._user:
                self._emit(done(hidden, receipt))

        def elsewhere(user: str, exchanges: Collection[str]) -> None:
            if user == self._user:
                items = HiddenItems.of(user, exchanges, (), datetime.now(UTC))
                loop.call_soon_threadsafe(forgotten_elsewhere, items, live, self._emit)

        first = partial(purge_due_at_start, self.transcript, done=gone, on_gone=elsewhere)
        await self.session_user.load(self.transcript, first)

    def turn_recall(
        self,
        shown: Callable[[], Collection[str]],
        exchanges: Callable[[], Sequence[Exchange]],
        reranking: Reranking | None = None,
    ) -> TurnRecall | None:
        """Return the recall for the voice loop (see `TurnRecall`); None if there is no long-term
        memory."""
        memory = self.session_user
        if memory is None:
            return None
        least = self._settings.memory.least_score
        recall = TurnRecall(memory, shown, exchanges, least, reranking)
        folder = self._location.folder or self._location.marker.parent
        limits = CapacityWarnings(folder, memory.count, self._emit)
        self._watchers += [recall.watch, limits.watch]
        return recall

    def watch(self, event: Event) -> None:
        """Receive an event from the session's event bus. Call this for every event."""
        for watch in self._watchers:
            watch(event)

    @property
    def exchange_store(self) -> Archive | Transcript:
        """Where the session stores its exchanges: the transcript and, if there is one, long-term
        memory."""
        memory, words = self.session_user, self.transcript
        return Archive(words, memory, self._emit) if memory is not None else words

    @property
    def exchange_importance(self) -> Importance:
        """Rates the importance of exchanges by the memories derived from them."""
        memory = self.session_user
        if memory is None:
            return no_importance
        return partial(importance_of_exchanges, index=lambda: memory.index)

    def profile(self) -> tuple[MemoryUsed, ...]:
        """Return the notes that are in every prompt; the same tuple until one of them changes."""
        return self.session_user.profile() if self.session_user is not None else ()

    async def expire(self, running: str) -> None:
        """Until cancelled, delete conversations older than the settings allow.

        Args:
            running: the id of the current conversation, which is not deleted.
        """
        days = self._settings.transcript.keep_days
        if days is not None:
            age = timedelta(days=days)
            await expire_daily(self.transcript, self._user, age, running, self._stored)

    # -- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the transcript and the store. May be called repeatedly. Blocking."""
        with ExitStack() as stack:
            stack.callback(self.transcript.close)
            if self._table is not None:
                stack.callback(self._table.close)
            for memory in filter(None, [self.session_user, *self._users.values()]):
                stack.callback(memory.shut_down)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, at: TracebackType | None
    ) -> None:
        if isinstance(error, StoreDamaged) and self._table is not None:
            self._table.distrust()  # so that the next start checks it, and repairs it if damaged
        self.close()

    # -- inside ---------------------------------------------------------------------------------

    def _user_memory(
        self,
        user: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        emit: Callable[[Event], None],
        close_table: Callable[[MemoryTable], None] = MemoryTable.close,
    ) -> UserMemory:
        return UserMemory(
            user,
            open_table,
            encoder,
            self._lexicon(),
            emit,
            tiers=Tiers.of(self._settings.memory),
            policy=CurationPolicy.of(self._settings.memory),
            enrichment=ExpansionWeights.of(self._settings.idle),
            close_table=close_table,
        )

    def _memory_access(self) -> MemoryAccess:
        earlier = self._earlier_memories()
        return MemoryAccess(
            self._user, self.session_user, open_earlier=earlier, state=self._state_of(self._user)
        )

    def _state_of(self, user: str) -> Callable[[], Mapping[str, Memory]]:
        return lambda: self.state_outlines(user)

    def _lexicon(self) -> TextAnalyzer:
        return TextAnalyzer(self._settings.persona.language)

    def _opened(self) -> MemoryTable:
        table = open_store(self._location, self._emit)
        try:
            purge_due_at_start(self.transcript, table, done=self._tell_purged)
        except BaseException:
            table.close()
            raise
        return table

    def _let_go(self) -> None:
        """Close the memories of users without a session, because their table has been replaced."""
        users, self._users, self._admins = self._users, {}, {}
        for memory in users.values():
            memory.shut_down()

    def _earlier_memories(self) -> Callable[[], MemoryTable] | None:
        """Return a function that opens the store of earlier sessions; None if there is no store."""
        folder = self._location.folder
        if folder is not None and not folder.exists():
            return None
        return partial(open_store, self._location, _log)

    def _stored(self) -> bool:
        """Return whether all memories are in the store. If so, their sources may be deleted."""
        if self.session_user is None:
            return not self._settings.memory.enabled
        return self.session_user.store.settled

    def _tell_purged(self, hidden: HiddenItems, receipt: Receipt) -> None:
        """Notify the session's user that something forgotten earlier has now been purged."""
        if hidden.user != self._user:
            return
        self._emit(
            Notice(
                f"What was forgotten at {hidden.asked.astimezone():%H:%M:%S} is gone for good."
                f" Searched {receipt.files:,} files ({receipt.bytes / 1e6:.1f} MB):"
                f" {f'still found in {receipt.places}' if receipt.places else 'nothing found'}."
            )
        )


def _log(event: Event) -> None:
    if isinstance(event, Notice):
        logger.warning("%s", event.text)
