"""Short-term memory: the running conversation, the part that the model sees, and its storage.

The voice loop asks for one prompt per turn, and calls `keep` once at its end:

    prompt(words)            when a turn starts; no side effects, so words may still be uncertain
    read_ahead(words, text)  once the answer is written: what to read into the cache meanwhile
    keep(turn)               once the turn is over: updates history, summary, window and disk
    summarize_if_due()       between turns, in the background
    read_ahead()             between turns: what to read into the cache
    pause()                  when speech begins; `summarize_if_due()` again if it was only noise

A finished summary takes effect only in `keep`, when the prefix has to be re-read anyway.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assistant.context.conversation import Conversation, Exchange, Summary
from assistant.context.prompt import Prompt
from assistant.context.summary import Summarizer
from assistant.context.window import ContextWindow, Importance, local_now, no_importance
from assistant.errors import StoreError
from assistant.events import Event, Latency, MemoryUsed, Notice, Severity, TurnEnded
from assistant.settings import Settings
from models.interfaces import LanguageModel, Message

SUMMARY_DELAY_S = 1.0
"""Seconds between a turn and the start of a summary: the cache is warmed first, and the user may
speak again."""


class Store(Protocol):
    """Stores exchanges. Its calls block, and may raise `StoreError`."""

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
    ) -> object: ...

    def store_summary(self, conversation: Conversation, summary: Summary) -> None: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """A complete exchange waiting to be stored."""

    exchange: Exchange
    latency: Latency
    memories: tuple[MemoryUsed, ...]


class ShortTermMemory:
    """One session's conversation. `conversation` holds the exchanges; the window decides which of
    them the model sees; the summarizer shortens older ones.

    Args:
        llm: must be loaded.
        store: if None, the conversation is held only in RAM.
        emit: gets a `Notice` when storing starts to fail, and when it works again.
        profile: returns the memories that are always shown about the user.
        importance: rates exchanges.
        now: returns the local wall time.
    """

    def __init__(
        self,
        conversation: Conversation,
        llm: LanguageModel,
        settings: Settings,
        store: Store | None,
        emit: Callable[[Event], None],
        profile: Callable[[], Sequence[MemoryUsed]] = tuple,
        importance: Importance = no_importance,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self.conversation = conversation
        self._window = ContextWindow(llm, settings, now, profile, importance)
        self._summarizer = Summarizer(llm, settings, self._window, emit)
        self._store = store
        self._emit = emit
        self._unsaved: list[_Kept | Summary] = []
        self._hidden: dict[str, _Kept] = {}
        """Exchanges forgotten before they were stored; stored only if the user undoes that."""
        self._saving = asyncio.Lock()
        self._failing = False
        self._summary_task: asyncio.Task[None] | None = None
        self._highest = 0
        self._unrecorded: list[str] | None = None
        """Ids of exchanges said off the record; None while on the record."""
        self._finished: Summary | None = None

    @property
    def turns(self) -> int:
        """The last turn's number; continues after a restart within the same conversation."""
        return max(self._highest, self.conversation.last_turn)

    def shown(self) -> frozenset[str]:
        """Ids of the exchanges that the next prompt will contain verbatim."""
        return self._window.shown(self.conversation)

    def read_ahead(self, user_text: str = "", answer: str = "") -> tuple[Message, ...]:
        """The next prompt up to the user's words. Words and answer of an exchange may be passed
        while the answer is still being spoken; the answer is included in full."""
        return self._window.read_ahead(self.conversation, user_text, answer)

    def prompt(
        self,
        newest_user_text: str,
        memories: Sequence[MemoryUsed] = (),
        state: str | None = None,
        reads_per_s: float | None = None,
    ) -> Prompt:
        """The prompt for the next turn. Does not change the conversation.

        Args:
            memories: best first.
            reads_per_s: tokens that this model reads per second, if known.
        """
        return self._window.build(
            self.conversation,
            newest_user_text,
            memories=memories,
            state=state,
            reads_per_s=reads_per_s,
        )

    async def keep(self, turn: TurnEnded, started: datetime) -> str:
        """Add a finished turn to the history, at once, and store it before returning. Returns the
        exchange's id.

        Never raises because of the disk: an exchange that can't be stored is queued until the next
        turn.
        """
        self._highest = max(self._highest, turn.turn)  # forgetting must not free a turn's number
        self.conversation.append_user(turn.turn, turn.user, started)
        exchange = self.conversation.complete(turn.turn, turn.assistant, turn.interrupted)
        if self._unrecorded is not None:
            self._unrecorded.append(exchange.id)
            self._window.settle(self.conversation)
            return exchange.id
        self._unsaved.append(_Kept(exchange, turn.latency_ms, turn.memories))
        self._apply_finished()
        self._window.settle(self.conversation)
        await self._save()
        return exchange.id

    def pause(self) -> None:
        """The user is speaking: stop background work at once. The text that the model has read for
        it stays in the model's background cache."""
        task, self._summary_task = self._summary_task, None
        if task is not None:
            task.cancel()

    def summarize_if_due(self) -> None:
        """It is quiet: start a summary if one is due and none is running. Idempotent."""
        if self._unrecorded is not None:  # a summary would outlast what was said off the record
            return
        if self._finished is not None or not self._summarizer.due(self.conversation):
            return
        if self._summary_task is None or self._summary_task.done():
            self._summary_task = asyncio.create_task(self._summarize())

    async def summarized(self) -> None:
        """Wait for the running summary, if any."""
        if self._summary_task is not None:
            await asyncio.wait({self._summary_task})

    def hide(self, ids: Collection[str]) -> frozenset[str]:
        """Remove exchanges from history, summary and prompt at once, but not from the store.

        Any summary in progress is stopped. The caller must then read `read_ahead()` into the
        model's cache to remove the words from it.
        """
        gone = self.conversation.hide(ids)
        wanted = frozenset(ids)
        unsaved, self._unsaved = self._unsaved, []
        for item in unsaved:
            if isinstance(item, Summary):
                if wanted.isdisjoint(item.covers):
                    self._unsaved.append(item)
            elif item.exchange.id in wanted:
                self._hidden[item.exchange.id] = item
            else:
                self._unsaved.append(item)
        if self._finished is not None and not wanted.isdisjoint(self._finished.covers):
            self._finished = None
        self.pause()
        self._window.settle(self.conversation)
        return gone

    def unhide(self, ids: Collection[str], exchanges: Sequence[Exchange]) -> list[Exchange]:
        """Undo `hide`. Returns the exchanges that the store does not have yet.

        Args:
            exchanges: the exchanges of this conversation that the store has.
        """
        unsaved = [self._hidden.pop(key) for key in ids if key in self._hidden]
        self._unsaved += unsaved
        back = [item.exchange for item in unsaved]
        self.conversation.unhide([*exchanges, *back])
        self.pause()
        self._window.settle(self.conversation)
        return back

    @property
    def off_record(self) -> bool:
        return self._unrecorded is not None

    def go_off_record(self) -> None:
        """From now on, answer what is said, but hold it only in the running conversation.
        Idempotent."""
        if self._unrecorded is None:
            self._unrecorded = []
            self.pause()

    def go_on_record(self) -> None:
        """Remove what was said off the record from the conversation. Idempotent."""
        unrecorded, self._unrecorded = self._unrecorded, None
        if unrecorded:
            self.hide(unrecorded)

    def purged(self, ids: Collection[str]) -> None:
        """Drop hidden exchanges, so that they can't be brought back any more."""
        for key in ids:
            self._hidden.pop(key, None)

    async def close(self) -> None:
        """End background work and store what is still queued."""
        task = self._summary_task
        self.pause()
        if task is not None:
            await asyncio.wait({task})
        self._apply_finished()
        await self._save()

    # -- internals ------------------------------------------------------------------------------

    async def _summarize(self) -> None:
        await asyncio.sleep(SUMMARY_DELAY_S)
        self._finished = await self._summarizer.run(self.conversation)

    def _apply_finished(self) -> None:
        summary, self._finished = self._finished, None
        if summary is not None and self.conversation.apply(summary):
            self._unsaved.append(summary)

    async def _save(self) -> None:
        if self._store is None:
            self._unsaved.clear()
            return
        async with self._saving:
            try:
                while self._unsaved:
                    item = self._unsaved[0]
                    await asyncio.to_thread(self._save_one, self._store, item)
                    self._unsaved = [each for each in self._unsaved if each is not item]
            except StoreError as error:
                self._tell(Notice(str(error), Severity.ERROR, error.mend), failing=True)
            else:
                self._tell(Notice("The conversation is being stored again."), failing=False)

    def _save_one(self, store: Store, item: _Kept | Summary) -> None:
        if isinstance(item, Summary):
            store.store_summary(self.conversation, item)
        else:
            store.store(self.conversation, item.exchange, item.latency, item.memories)

    def _tell(self, notice: Notice, *, failing: bool) -> None:
        """Emit the notice only when the state changes."""
        if failing is not self._failing:
            self._failing = failing
            self._emit(notice)
