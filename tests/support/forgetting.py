"""A session in which a test can tell, recall and forget facts without models. Transcript and table
are real; the clock is set by hand."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from assistant.context.conversation import Conversation, Exchange
from assistant.events import Event, Latency, MemoryUsed, Remarked, TurnEnded
from assistant.intents.command import Command, Intent
from assistant.language.stemming import TextAnalyzer
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting.answered_turns import AnsweredTurns
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.purge import purge_due_at_start
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from assistant.memory.user_statements import UserStatements
from assistant.skills.memory.correcting import Correcting
from assistant.skills.memory.explaining import Explaining
from assistant.skills.memory.forgetting import Forgetting
from assistant.skills.memory.lifting import Lifting
from assistant.skills.memory.remembering import Remembering
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Skill
from models.interfaces import LanguageModel
from scripts.bench.hiding import Running
from tests.support.encoders import OtherHashing
from tests.support.memories import stored
from tests.support.patience import LEISURE_S
from tests.support.user_memory import user_memory

ENRICHED = ExpansionWeights(0.5, 0.5)
"""Everything derived between utterances counts in the ranking."""
START = datetime(2026, 11, 21, 10, tzinfo=UTC)


@dataclass
class Window(Running):
    """Records the exchanges that can't be brought back, and holds some not stored elsewhere."""

    dropped: list[str] = field(default_factory=list)
    unsaved: dict[str, Exchange] = field(default_factory=dict)

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]]
    ) -> Sequence[Exchange]:
        back = [self.unsaved[key] for key in items.exchanges if key in self.unsaved]
        super().unhide(items, [*exchanges, *((self.talk.id, each) for each in back)])
        return back

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        del clean
        self.dropped += items.exchanges


@dataclass
class Bench:
    """An assistant's memory, its transcript, and the executor that forgets in both."""

    memory: UserMemory
    transcript: Transcript
    window: Window
    forgetting: ForgettingExecutor
    skills: SkillRegistry
    turns: AnsweredTurns
    explaining: Explaining
    statements: UserStatements
    lifting: Lifting
    events: list[Event]
    clock: list[datetime]
    off_record: list[bool]
    every_skill: Sequence[Skill]

    def tell(self, said: str, answer: str = "I see.", used: Sequence[MemoryUsed] = ()) -> Exchange:
        turn = self.window.talk.last_turn + 1
        self.window.talk.append_user(turn, said, self.clock[0])
        exchange = self.window.talk.complete(turn, answer, ended=self.clock[0])
        Archive(self.transcript, self.memory, self.events.append).store(self.window.talk, exchange)
        ended = TurnEnded(turn, said, answer, False, Latency(), tuple(used))
        self.turns.watch(ended)
        self.explaining.watch(ended)
        return exchange

    async def ask(self, question: str, answer: str) -> Exchange:
        """Store an answer whose prompt contained what is recalled for the question."""
        found = (await self.memory.recall(question, LEISURE_S)).memories
        used = [MemoryUsed(e.id, e.text, e.score, e.speaker, said=e.created) for e in found]
        return self.tell(question, answer, used)

    async def tell_all(self, *said: str) -> list[Exchange]:
        """Tell these, and return once everything is on disk."""
        exchanges = [self.tell(each) for each in said]
        await self.memory.settled()
        return exchanges

    async def obey(self, command: Command, *, sure: bool = True) -> str | None:
        """Carry out a command, or ask whether it is meant; returns what the assistant says."""
        reply = await self.skills.carry_out(Intent(command, sure))
        if reply is None:
            return None
        self.explaining.watch(Remarked(reply.text, command.kind))
        return reply.text

    async def answer(self, text: str) -> str | None:
        """Answer the question that waits; None if these words are no answer to it."""
        act = self.skills.answer(text)
        return (await act()).text if act is not None else None

    async def give(self, text: str) -> str | None:
        """Give the words that a question asks for; None if they are no answer to it."""
        reply = await self.skills.said(text) if self.skills.takes_words(text) else None
        return reply.text if reply is not None else None

    def current(self) -> set[str]:
        """The user's statements that count, i.e. neither hidden nor superseded."""
        outlines = self.memory.index.outlines().values()
        return {e.text for e in outlines if e.speaker == "user" and e.superseded_by is None}

    async def purge_later(self, seconds: float = 60) -> bool:
        """Purge what is due after this time; returns whether all of it is gone."""
        self.pass_time(seconds)
        return await self.forgetting.purge_due()

    async def recalled(self, query: str) -> set[str]:
        found = await self.memory.recall(query, LEISURE_S)
        return {each.text for each in found.memories if each.speaker == "user"}

    async def strengthened(self) -> None:
        """Return once every memory has both encoders' vectors."""
        await self.memory.settled()
        while await self.memory.strengthening.some(64):
            pass

    @property
    def desk(self) -> MemoryAdmin:
        memory = self.memory
        return MemoryAdmin(
            "ada",
            memory.table,
            lambda: self.transcript,
            lambda: memory,
            memory=memory,
            forgetting=self.forgetting,
        )

    def kept(self) -> tuple[set[str], set[str]]:
        """The user's words that the transcript and the table still hold."""
        return _kept(self.transcript, self.memory.table)

    def pass_time(self, seconds: float) -> None:
        self.clock[0] += timedelta(seconds=seconds)


async def quiet() -> None:
    """Nobody speaks."""


def gone_elsewhere(
    window: "Window", clock: Sequence[datetime], user: str, exchanges: Collection[str]
) -> None:
    """Take what another machine has forgotten out of the running conversation."""
    items = HiddenItems.of(user, exchanges, (), clock[0])
    window.hide(items)
    window.purged(items, clean=True)


def learning_skills(
    statements: UserStatements,
    turns: AnsweredTurns,
    llm: LanguageModel | None,
    off_record: Sequence[bool],
) -> list[Skill]:
    """The skills that change what is remembered; the item of `off_record` says whether they must
    not."""
    return [
        Remembering(statements, turns, lambda: off_record[0]),
        Correcting(statements, turns, llm, lambda: off_record[0]),
    ]


@asynccontextmanager
async def bench(
    folder: Path,
    talk: Conversation | None = None,
    at: datetime = START,
    store: Path | None = None,
    llm: LanguageModel | None = None,
) -> AsyncIterator[Bench]:
    """One session in `folder`. Its memories are there, or in a `store` that machines share."""
    talk = talk or Conversation.begin("ada")
    events: list[Event] = []
    clock = [at]
    transcript = Transcript.open(folder / "transcript.sqlite3")
    place = store or folder / "memories"
    memory = user_memory(place, stronger=OtherHashing(), emit=events.append, enrichment=ENRICHED)
    window = Window(talk)

    def emit(event: Event) -> None:
        events.append(event)
        for each in (turns, forgets, skills):
            each.watch(event)

    memories = MemoryAccess("ada", memory)
    forgetting = ForgettingExecutor(
        transcript,
        memories,
        [memory, window],
        grace_s=60,
        quiet=quiet,
        live=window,
        emit=emit,
        now=lambda: clock[0],
    )
    resolver = Resolver(transcript, memories, TextAnalyzer("en"))
    turns = AnsweredTurns(lambda: window.talk, memory.forget_questions)
    explaining = Explaining(resolver, turns, lambda: clock[0])
    lexicon = TextAnalyzer("en")
    statements = UserStatements(memory, forgetting, resolver, lexicon, turns)
    off_record = [False]
    lifting = Lifting(statements, forgetting, lexicon, turns)
    forgets = Forgetting(forgetting, resolver, turns)
    learns = learning_skills(statements, turns, llm, off_record)
    every: list[Skill] = [forgets, explaining, lifting, *learns]
    skills = SkillRegistry(every, events.append)
    await forgetting.load()

    gone = partial(gone_elsewhere, window, clock)
    first = partial(purge_due_at_start, transcript, now=lambda: clock[0], on_gone=gone)
    await memory.load(transcript, first)
    memory.strengthening.begin()
    await forgetting.load()
    try:
        yield Bench(
            *(memory, transcript, window, forgetting, skills, turns, explaining, statements),
            *(lifting, events, clock, off_record, every),
        )
    finally:
        await memory.settled()
        await memory.close()
        transcript.close()


def kept(folder: Path) -> tuple[set[str], set[str]]:
    """The user's words that the transcript and the table still hold after the session."""
    with (
        closing(Transcript.open(folder / "transcript.sqlite3")) as transcript,
        closing(MemoryTable.open(str(folder / "memories"))) as table,
    ):
        return _kept(transcript, table)


def _kept(transcript: Transcript, table: MemoryTable) -> tuple[set[str], set[str]]:
    ids = transcript.exchange_ids("ada")
    said = {each.user_text for _, each in transcript.exchanges("ada", ids)}
    return said, {each.text for each in stored(table) if each.speaker == "user"}
