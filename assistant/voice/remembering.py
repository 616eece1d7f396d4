"""Short-term memory as the spoken loop uses it: the thread of the conversation, on screen and disk.

Puts `assistant.context` (what the model sees) and the transcript (what is kept) behind the few
calls that a turn needs.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from assistant.context.conversation import Conversation
from assistant.context.prompt import Prompt
from assistant.context.summary import Summarizer
from assistant.context.window import Window
from assistant.errors import StoreError
from assistant.events import EventBus, MemoryUsed, Notice, Severity, TurnEnded
from assistant.memory.transcript import Transcript
from assistant.settings import Settings
from assistant.voice.ledger import Ledger
from models.interfaces import LanguageModel, Message


class ShortTermMemory:
    """One user's running conversation. Lives on the event loop; writes to disk beside it.

    Without a transcript (the disk is full, the file is damaged) the conversation goes on unkept.
    """

    def __init__(
        self,
        settings: Settings,
        llm: LanguageModel,
        bus: EventBus,
        transcript: Transcript | None,
        ledger: Ledger,
    ) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._bus = bus
        self._conversation = self._thread(settings)
        self._window = Window(llm, settings)
        self._summarizer = Summarizer(llm, settings, self._window, bus.emit)
        self._summarizing: asyncio.Task[None] | None = None

    def _thread(self, settings: Settings) -> Conversation:
        """Where the last session left off, if that was not long ago."""
        user = settings.general.user
        if self._transcript is None:
            return Conversation.begin(user)
        within = timedelta(hours=settings.context.resume_within_h)
        resumed = self._transcript.resume(user, within)
        return resumed or self._transcript.begin_conversation(user)

    @property
    def turns(self) -> int:
        """The number of the last turn; goes on after a restart within the thread."""
        return self._conversation.last_turn

    def prompt(self, text: str, memories: Sequence[MemoryUsed]) -> Prompt:
        """What the model sees for a turn with these words. Changes nothing."""
        lines = [memory.text for memory in memories]
        return self._window.build(self._conversation, text, memories=lines)

    def read_ahead(self, user_text: str = "", answer: str = "") -> tuple[Message, ...]:
        """What can be read into the cache now; with an exchange that is only just being heard."""
        return self._window.read_ahead(self._conversation, user_text, answer)

    async def keep(self, turn: TurnEnded, started: datetime) -> None:
        """A turn is over: into the history, then onto the disk.

        Raises:
            StoreError: it is in the history, but could not be written.
        """
        self._conversation.append_user(turn.turn, turn.user, started)
        exchange = self._conversation.complete(turn.turn, turn.assistant, turn.interrupted)
        self._window.settle(self._conversation)
        if self._transcript is not None:
            await asyncio.to_thread(
                self._transcript.store, self._conversation, exchange, turn.latency_ms
            )
        await asyncio.to_thread(self._ledger.write, turn)

    def summarize_if_due(self) -> None:
        """Begin a summary in the background, where one is due and none is under way."""
        if self._summarizing is None and self._summarizer.due(self._conversation):
            self._summarizing = asyncio.create_task(self._summarize())

    async def _summarize(self) -> None:
        try:
            summary = await self._summarizer.run(self._conversation)
            if summary is None or not self._conversation.apply(summary):
                return
            if self._transcript is not None:
                await asyncio.to_thread(self._transcript.store_summary, self._conversation, summary)
        except StoreError as error:
            self._bus.emit(Notice(str(error), Severity.WARNING, error.mend))
        finally:
            self._summarizing = None

    async def close(self) -> None:
        task = self._summarizing
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        if self._transcript is not None:
            self._transcript.close()
