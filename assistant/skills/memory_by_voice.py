"""Spoken commands about what is kept, carried out: which exchanges and memories are meant, what is
done with them, and what is said of it."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from assistant.context import Conversation, Exchange
from assistant.errors import StoreError
from assistant.events import (
    Event,
    ForgettingDone,
    MemoryUsed,
    RecordChanged,
    TurnEnded,
)
from assistant.intents import Command, CommandKind
from assistant.language.stemming import TextAnalyzer
from assistant.memory import ForgettingExecutor, Transcript, UserMemory
from assistant.memory.forgetting.selection import (
    AnsweredTurn,
    Everything,
    Selection,
    about,
    all_of,
    everything,
    known,
    memories_about,
    read_back,
    since,
    that,
)
from assistant.memory.retrieval.results import RecalledMemory

logger = logging.getLogger(__name__)

ANSWER_S = 30.0
"""How long a question of the assistant's waits for its yes."""
TURNS = 50
"""Whose memories are known, to tell what an answer was made of."""
FOUND = 20

Used = Mapping[int, tuple[MemoryUsed, ...]]
"""By turns."""

KEPT = "All right, I keep it."
BACK = "It is all back."
TOO_LATE = "There is nothing left to bring back."


class MemoryCommands:
    """One user's. Belongs to the event loop.

    Args:
        conversation: the running one.
        memory: None where nothing is remembered beyond the conversation.
    """

    def __init__(
        self,
        user: str,
        forgetting: ForgettingExecutor,
        transcript: Transcript,
        conversation: Callable[[], Conversation],
        memory: UserMemory | None,
        lexicon: TextAnalyzer,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.forgetting = forgetting
        self._user = user
        self._transcript = transcript
        self._conversation = conversation
        self._memory = memory
        self._lexicon = lexicon
        self._now = now
        self._used: deque[tuple[int, tuple[MemoryUsed, ...]]] = deque(maxlen=TURNS)
        self._asked: Selection | None = None
        self._asked_at = float("-inf")
        self._just_forgotten = False

    def watch(self, event: Event) -> None:
        """On the event bus."""
        if isinstance(event, TurnEnded):
            self._used.append((event.turn, event.memories))
            self._asked = None
            self._just_forgotten = False
        elif isinstance(event, ForgettingDone | RecordChanged):
            self._used.clear()
            if self._memory is not None:
                self._memory.forget_questions()

    @property
    def waits_for_yes(self) -> bool:
        """A question was asked, and not long ago."""
        return self._asked is not None and time.monotonic() - self._asked_at < ANSWER_S

    @property
    def may_be_undone(self) -> bool:
        """Something was forgotten, and nothing said since."""
        return self._just_forgotten

    async def answered(self, *, yes: bool) -> str:
        """What was asked is agreed to, or not; returns what to say."""
        meant, self._asked = self._asked, None
        if meant is None or not yes:
            return KEPT
        return await self._forget(meant)

    async def carry_out(self, command: Command) -> str | None:
        """Do it, and return what to say of it; None where the model is to answer."""
        self._asked = None
        try:
            if command.kind is CommandKind.KNOW:
                return await asyncio.to_thread(self._known, command.about)
            if command.kind is CommandKind.UNDO:
                self._just_forgotten = False
                return BACK if await self.forgetting.undo() is not None else TOO_LATE
            meant = await self._meant(command)
            if meant is None:
                return read_back(None)
            if meant.question is not None:
                self._asked, self._asked_at = meant, time.monotonic()
                return meant.question
            return await self._forget(meant)
        except StoreError as error:
            return f"{error} {error.mend or ''}".strip()

    async def _forget(self, meant: Selection) -> str:
        try:
            await self.forgetting.forget(meant.exchanges, meant.memories)
        except StoreError as error:
            return f"It is out of my mind, but: {error}"
        self._just_forgotten = self.forgetting.gives_time
        return read_back(meant, undoable=self.forgetting.gives_time)

    # -- what is meant --------------------------------------------------------------------------

    async def _meant(self, command: Command) -> Selection | None:
        # All of it takes longer than the voice may wait; what the loop may change is copied here.
        here = self._conversation().exchanges
        if command.kind in (CommandKind.FORGET_THAT, CommandKind.FORGET_CONVERSATION):
            return await asyncio.to_thread(self._found_here, command.kind, here, dict(self._used))
        return await asyncio.to_thread(self._found, command, here)

    def _found_here(
        self, kind: CommandKind, exchanges: Sequence[Exchange], used: Used
    ) -> Selection | None:
        """For what is of the running conversation; blocking."""
        around = self._around(exchanges, used)
        if kind is CommandKind.FORGET_CONVERSATION:
            return all_of(exchanges, around, self._lexicon)
        turned = [
            AnsweredTurn(each, used.get(each.turn, ())) for each in exchanges if not each.open
        ]
        return that(turned, around, self._lexicon)

    def _found(self, command: Command, here: Sequence[Exchange]) -> Selection | None:
        """For what goes beyond the running conversation; blocking.

        Args:
            here: said in it, kept or not.
        """
        now = self._now()
        if command.kind is CommandKind.FORGET_ALL:
            kept = self._transcript.exchange_ids(self._user) | {each.id for each in here}
            return everything(sorted(kept), self._all(), self._lexicon)
        said = self._said(here)
        if command.kind is CommandKind.FORGET_ABOUT:
            topic = command.about or ""
            return about(topic, self._all(), said, self._recalled(topic), self._lexicon)
        minutes = command.minutes or 0
        if command.kind is CommandKind.FORGET_TODAY:
            minutes = -(-(now - _midnight(now)) // timedelta(minutes=1))
        return since(said, now, minutes, self._all(), self._lexicon)

    def _known(self, topic: str | None) -> str | None:
        """None where nothing is, or not yet: then it is a question like any other. Blocking."""
        if topic is None:
            told = sorted(self._all().values(), key=lambda each: each.created, reverse=True)
            return known(None, told, self._lexicon)
        try:
            told = memories_about(topic, self._all(), self._recalled(topic), self._lexicon)
        except StoreError:
            return None
        return known(topic, told, self._lexicon) if told else None

    def _around(self, exchanges: Sequence[Exchange], used: Used) -> Everything:
        """What rests on these exchanges, and what their answers were made of."""
        if self._memory is None:
            return {}
        try:
            index = self._memory.index
        except StoreError:  # not read yet; what rests on an exchange goes with it all the same
            return {}
        keys = {each.id for each in exchanges}
        ids = {memory.id for memories in used.values() for memory in memories}
        first = index.outlines(keys, ids)
        sources = {source for memory in first.values() for source in memory.sources}
        return index.outlines(keys | sources, ids)

    def _all(self) -> Everything:
        return self._memory.index.outlines() if self._memory is not None else {}

    def _said(self, here: Sequence[Exchange]) -> list[Exchange]:
        ids = self._transcript.exchange_ids(self._user)
        kept = {each.id: each for _, each in self._transcript.exchanges(self._user, ids)}
        return list((kept | {each.id: each for each in here if not each.open}).values())

    def _recalled(self, topic: str) -> Iterable[RecalledMemory]:
        if self._memory is None or not topic:
            return ()
        return self._memory.find(topic, FOUND).memories


def _midnight(now: datetime) -> datetime:
    """When the local day began; with the offset of then, since the clocks may have changed."""
    return datetime.combine(now.astimezone().date(), datetime.min.time()).astimezone()
