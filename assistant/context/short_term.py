"""Short-term memory: the running conversation, the part of it that the model sees, and its storage.

The voice loop requests a prompt for each turn, and calls `keep` once when the turn has ended:

    draft(words)             while the user speaks: messages for the model's cache
    prompt(words)            when a turn starts, and again if the words change
    read_ahead(words, text)  once the answer is written: messages for the model's cache
    keep(turn)               when the turn has ended: updates history, summary, window and disk
    summarize_if_due()       between turns, in the background
    read_ahead()             between turns: messages for the model's cache
    pause()                  when speech begins; `summarize_if_due()` again if it was only noise

A finished summary takes effect only in `keep`, i.e. between turns, because it makes the model
re-read the prompt."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assistant.context.conversation import (
    Conversation,
    Exchange,
    Importance,
    Summary,
    no_importance,
)
from assistant.context.not_known import NotKnown
from assistant.context.prompt import Prompt
from assistant.context.summary import Summarizer
from assistant.context.window import ContextWindow, local_now
from assistant.errors import StoreError
from assistant.events import Event, Latency, MemoryUsed, Notice, Severity, TurnEnded
from assistant.settings import Settings
from models.interfaces import LanguageModel, Message

SUMMARY_DELAY_S = 1.0
"""Seconds between the end of a turn and the start of a summary. In that time the model's cache is
updated, and the user may speak again."""


class Store(Protocol):
    """Stores exchanges and summaries. Both methods block, and may raise `StoreError`."""

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
        near_misses: Sequence[tuple[str, float, str]] = (),
    ) -> object: ...

    def store_summary(self, conversation: Conversation, summary: Summary) -> None: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """A complete exchange that waits to be stored."""

    exchange: Exchange
    latency: Latency
    memories: tuple[MemoryUsed, ...]
    near_misses: tuple[tuple[str, float, str], ...]


class ShortTermMemory:
    """The conversation of one session. `conversation` contains all exchanges, a window selects
    those that the model sees, and a summarizer shortens the older ones.

    Args:
        llm: must be loaded.
        store: if None, the conversation is held only in RAM.
        emit: receives a `Notice` when storing begins to fail, and when it works again.
        profile: returns the memories that every prompt contains.
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
        """Exchanges that were forgotten before they were stored. If the user undoes the forgetting,
        they are stored."""
        self._saving = asyncio.Lock()
        self._failing = False
        self._summary_task: asyncio.Task[None] | None = None
        self._highest = 0
        self._unrecorded: list[str] | None = None
        """Ids of the exchanges said off the record; None while the session is on the record."""
        self._finished: Summary | None = None

    def show_state(self, state: Callable[[], str]) -> None:
        """Include the result of `state` in every prompt: a few lines about an open form or task, or
        nothing. When the result changes, the model should read `read_ahead()` again."""
        self._window.state = state

    @property
    def turns(self) -> int:
        """The number of the last turn. Within a conversation, numbering continues after a
        restart."""
        return max(self._highest, self.conversation.last_turn)

    def shown(self) -> frozenset[str]:
        """Return the ids of the exchanges that the next prompt will contain word for word."""
        return self._window.shown(self.conversation)

    def read_ahead(self, user_text: str = "", answer: str = "") -> tuple[Message, ...]:
        """Return the next prompt up to the user's words. While an answer is still being spoken,
        pass the user's words and the answer. The returned messages then include this answer in
        full."""
        return self._window.read_ahead(self.conversation, user_text, answer)

    def prompt(
        self,
        newest_user_text: str,
        memories: Sequence[MemoryUsed] = (),
        reads_per_s: float | None = None,
        *,
        not_known: NotKnown | None = None,
    ) -> Prompt:
        """Build the prompt for the next turn. Does not change the conversation.

        Args:
            memories: best first.
            reads_per_s: tokens that this model reads per second, if known.
            not_known: set if the words ask for something that the assistant can't know by itself.
        """
        return self._window.build(
            self.conversation,
            newest_user_text,
            memories=memories,
            reads_per_s=reads_per_s,
            not_known=not_known,
        )

    def draft(
        self, words: str, memories: Sequence[MemoryUsed], reads_per_s: float | None
    ) -> tuple[Message, ...]:
        """Return the prompt's messages for a turn with exactly these words; nothing if exchanges
        would have to leave the window. Perhaps they never become a turn. The arguments are those of
        `prompt`."""
        return self._window.draft(
            self.conversation, words, memories=memories, reads_per_s=reads_per_s
        )

    async def keep(self, turn: TurnEnded, started: datetime) -> str:
        """Add a finished turn to the history, then store it. Return the id of its exchange.

        Does not raise if the disk fails: an exchange that can't be stored is queued, and storing is
        retried in the next turn.
        """
        self._highest = max(self._highest, turn.turn)  # no number is used twice
        self.conversation.append_user(turn.turn, turn.user, started)
        exchange = self.conversation.complete(turn.turn, turn.assistant, turn.interrupted)
        if self._unrecorded is not None:
            self._unrecorded.append(exchange.id)
            self._window.settle(self.conversation)
            return exchange.id
        kept = _Kept(exchange, turn.latency_ms, turn.memories, turn.near_misses)
        self._unsaved.append(kept)
        self._apply_finished()
        self._window.settle(self.conversation)
        await self._save()
        return exchange.id

    def pause(self) -> None:
        """Stop background work at once, because the user is speaking. The text that the model has
        already read for this work stays in its background cache."""
        task, self._summary_task = self._summary_task, None
        if task is not None:
            task.cancel()

    def summarize_if_due(self) -> None:
        """Start a summary if one is due and none is running. Call this while nobody is speaking.
        Idempotent."""
        if self._unrecorded is not None:  # a summary would outlast what was said off the record
            return
        if self._finished is not None or not self._summarizer.due(self.conversation):
            return
        if self._summary_task is None or self._summary_task.done():
            self._summary_task = asyncio.create_task(self._summarize())

    async def summarized(self) -> None:
        """Wait for the summary in progress, if any."""
        if self._summary_task is not None:
            await asyncio.wait({self._summary_task})

    def hide(self, ids: Collection[str]) -> frozenset[str]:
        """Remove exchanges from history, summary and prompt at once, but not from the store. Return
        the ids that were found.

        A summary in progress is stopped. The caller must then have the model read the messages that
        `read_ahead()` returns. They replace the removed words in the model's cache.
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
        """Undo `hide`. Return the restored exchanges that are not in the store yet.

        Args:
            exchanges: the exchanges with these `ids` that are in the store and belong to this
                conversation.
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
        """Go off the record: from now on, answer the user, but hold new exchanges only in the
        running conversation. Idempotent."""
        if self._unrecorded is None:
            self._unrecorded = []
            self.pause()

    def go_on_record(self) -> None:
        """Go back on the record, and remove what was said off the record from the conversation.
        Idempotent."""
        unrecorded, self._unrecorded = self._unrecorded, None
        if unrecorded:
            self.hide(unrecorded)

    def purged(self, ids: Collection[str]) -> None:
        """Delete hidden exchanges for good, so that `unhide` can't restore them."""
        for key in ids:
            self._hidden.pop(key, None)

    async def close(self) -> None:
        """End background work and store the exchanges that are still queued."""
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
                self._tell(Notice("The conversation can be stored again."), failing=False)

    def _save_one(self, store: Store, item: _Kept | Summary) -> None:
        if isinstance(item, Summary):
            store.store_summary(self.conversation, item)
        else:
            kept = (item.exchange, item.latency, item.memories, item.near_misses)
            store.store(self.conversation, *kept)

    def _tell(self, notice: Notice, *, failing: bool) -> None:
        """Emit the notice only if storing begins to fail, or begins to work again."""
        if failing is not self._failing:
            self._failing = failing
            self._emit(notice)
