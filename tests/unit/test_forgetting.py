"""Forgetting with its grace time, on a real transcript and a real table."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Exchange
from assistant.errors import StoreError
from assistant.events import Event, ForgettingBegan, ForgettingDone, ForgettingUndone
from assistant.memory.encoding import QueryEncoder
from assistant.memory.forgetting import Forgetting
from assistant.memory.forgetting_marks import Hidden
from assistant.memory.lexicon import Lexicon
from assistant.memory.long_term import LongTermMemory
from assistant.memory.ranking import Ranking
from assistant.memory.recollection import Archive
from assistant.memory.record import Kind, Memory, new_id
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript
from assistant.purging import purged_first, purger
from tests.support.encoders import HashingEncoder
from tests.support.memories import stored

LEISURE_S = 30.0
DOG = "My dog is called Max."
CAT = "My cat is called Kim."
START = datetime(2026, 11, 21, 10, tzinfo=UTC)


@dataclass
class Window:
    """In place of the running conversation."""

    talk: Conversation
    forgotten: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    @property
    def conversation(self) -> str:
        return self.talk.id

    def forget(self, exchanges: Collection[str]) -> None:
        self.talk.forget(exchanges)

    def bring_back(self, ids: Collection[str], exchanges: Sequence[Exchange]) -> None:
        del ids
        self.talk.bring_back(exchanges)

    def drop(self, exchanges: Collection[str]) -> None:
        self.dropped += exchanges


@dataclass
class Bench:
    """An assistant's memory, its transcript, and what forgets in both."""

    memory: LongTermMemory
    transcript: Transcript
    window: Window
    forgetting: Forgetting
    events: list[Event]
    clock: list[datetime]

    def tell(self, said: str) -> Exchange:
        turn = self.window.talk.last_turn + 1
        self.window.talk.append_user(turn, said, START + timedelta(seconds=turn))
        exchange = self.window.talk.complete(turn, "I see.")
        Archive(self.transcript, self.memory).store(self.window.talk, exchange)
        return exchange

    async def recalled(self, query: str) -> set[str]:
        found = await self.memory.recall(query, LEISURE_S)
        return {each.text for each in found.memories if each.speaker == "user"}

    def pass_time(self, seconds: float) -> None:
        self.clock[0] += timedelta(seconds=seconds)


@asynccontextmanager
async def bench(folder: Path, talk: Conversation, at: datetime = START) -> AsyncIterator[Bench]:
    """One session in `folder`."""
    events: list[Event] = []
    clock = [at]
    transcript = Transcript.open(folder / "transcript.sqlite3")
    memory = LongTermMemory(
        "ada",
        lambda: MemoryTable.open(str(folder / "memories")),
        QueryEncoder(HashingEncoder()),
        Lexicon("en"),
        Ranking(),
        events.append,
    )
    window = Window(talk)

    async def quiet() -> None:
        """Nobody speaks."""

    forgetting = Forgetting(
        "ada",
        transcript,
        memory,
        window,
        grace_s=60,
        purge=purger("ada", transcript, memory),
        quiet=quiet,
        emit=events.append,
        now=lambda: clock[0],
    )
    await forgetting.load()
    await memory.load(transcript, purged_first("ada", transcript, lambda: clock[0]))
    await forgetting.load()
    try:
        yield Bench(memory, transcript, window, forgetting, events, clock)
    finally:
        await memory.settled()
        await memory.close()
        transcript.close()


def kept(folder: Path) -> tuple[set[str], set[str]]:
    """What the transcript and the table hold of what the user said."""
    with closing(Transcript.open(folder / "transcript.sqlite3")) as transcript:
        ids = transcript.exchange_ids("ada")
        said = {each.user_text for _, each in transcript.exchanges("ada", ids)}
    with closing(MemoryTable.open(str(folder / "memories"))) as table:
        return said, {each.text for each in stored(table) if each.speaker == "user"}


async def test_it_is_out_of_sight_at_once_and_gone_after_the_grace_time(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        hidden = await here.forgetting.forget([dog.id], ())
        assert await here.recalled("What is my dog called?") == {CAT}
        assert [each.user_text for each in talk.exchanges] == [CAT]
        assert here.transcript.hidden("ada") == [hidden]
        assert await here.forgetting.purge_due()
        assert here.transcript.hidden("ada") == [hidden], "there is time left"
        here.pass_time(60)
        assert await here.forgetting.purge_due()
        assert here.forgetting.hidden == ()
        assert here.transcript.hidden("ada") == []
        assert here.window.dropped == [dog.id]
        assert await here.recalled("What is my dog called?") == {CAT}
        assert DOG not in here.memory._encoder.texts()
    began, done = (
        each for each in here.events if isinstance(each, ForgettingBegan | ForgettingDone)
    )
    assert began == ForgettingBegan(hidden.id, 1, 0, START + timedelta(seconds=60))
    assert isinstance(done, ForgettingDone)
    assert (done.id, done.clean) == (hidden.id, True)
    assert done.files > 3
    assert done.bytes > 10_000
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_undo_brings_all_of_it_back(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        hidden = await here.forgetting.forget([dog.id], ())
        here.pass_time(59)
        assert await here.forgetting.undo() == hidden
        assert DOG in await here.recalled("What is my dog called?")
        assert [each.user_text for each in talk.exchanges] == [DOG, CAT]
        assert await here.forgetting.undo() is None
        here.pass_time(60)
        assert await here.forgetting.purge_due()
    assert ForgettingUndone(hidden.id) in here.events
    assert kept(tmp_path) == ({DOG, CAT}, {DOG, CAT})


async def test_the_last_of_several_is_undone_and_what_both_hide_stays_hidden(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, cat = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
        await here.forgetting.forget([dog.id, cat.id], ())
        await here.forgetting.undo()
        assert await here.recalled("What is my dog called, and my cat?") == {CAT}


async def test_after_the_grace_time_nothing_comes_back(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
        here.pass_time(60)
        assert await here.forgetting.undo() is None
        assert await here.recalled("What is my dog called?") == set()


async def test_a_restart_neither_shows_it_nor_ends_the_grace_time(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
    later = START + timedelta(seconds=30)
    async with bench(tmp_path, Conversation.begin("ada"), later) as again:
        assert await again.recalled("What is my dog called?") == {CAT}
        resumed = again.transcript.conversation("ada", talk.id)
        assert [each.user_text for each in resumed.exchanges] == [CAT]
        await again.forgetting.undo()
        assert DOG in await again.recalled("What is my dog called?")


async def test_what_is_due_is_purged_at_the_next_start_before_anything_is_read(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
    later = START + timedelta(seconds=61)
    async with bench(tmp_path, Conversation.begin("ada"), later) as again:
        assert again.forgetting.hidden == ()
        assert again.transcript.forgotten("ada") == {dog.id}
        assert await again.recalled("What is my dog called?") == {CAT}
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_a_clock_that_was_set_back_gives_no_more_time(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
    async with bench(tmp_path, Conversation.begin("ada"), START - timedelta(days=1)) as again:
        assert await again.forgetting.undo() is None
    assert kept(tmp_path) == (set(), set())


async def test_what_rests_on_it_goes_with_it_and_a_rebuild_makes_nothing_of_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        fact = Memory(new_id(), "ada", Kind.FACT, "The dog is Max.", START, sources=(dog.id,))
        note = Memory(new_id(), "ada", Kind.FACT, "Max barks.", START, sources=("you",))
        await asyncio.to_thread(here.memory.put, [fact, note])
        await here.forgetting.forget([dog.id], [note.id])
        assert await here.recalled("What of Max the dog?") == set()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert await here.recalled("What of Max the dog?") == set()
        here.pass_time(60)
        await here.forgetting.purge_due()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert await here.recalled("What of Max the dog?") == set()
    assert kept(tmp_path) == (set(), set())


async def test_a_forgotten_exchange_that_comes_late_is_not_kept(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
        here.pass_time(60)
        await here.forgetting.purge_due()
        Archive(here.transcript, here.memory).store(talk, dog)
        assert await here.recalled("What is my dog called?") == set()
    assert kept(tmp_path) == (set(), set())


async def test_a_purge_that_fails_is_done_again_and_shows_nothing_meanwhile(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        real, here.forgetting._purge = here.forgetting._purge, _broken
        await here.forgetting.forget([dog.id], ())
        here.pass_time(60)
        assert not await here.forgetting.purge_due()
        assert await here.recalled("What is my dog called?") == set()
        here.forgetting._purge = real
        assert await here.forgetting.purge_due()
    assert kept(tmp_path) == (set(), set())


def _broken(_: Hidden) -> None:
    raise StoreError("The disk is full.")


async def test_what_could_not_be_noted_is_hidden_all_the_same(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        here.transcript._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError):
            await here.forgetting.forget([dog.id], ())
        assert await here.recalled("What is my dog called?") == set()
        here.transcript._db.execute("PRAGMA query_only = OFF")
        here.pass_time(60)
        assert await here.forgetting.purge_due()
    assert kept(tmp_path) == (set(), set())


async def test_it_purges_by_itself(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.forgetting._grace = timedelta(seconds=0.2)
        here.forgetting._now = lambda: datetime.now(UTC)
        running = asyncio.create_task(here.forgetting.run())
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.forget([dog.id], ())
        async with asyncio.timeout(LEISURE_S):
            while here.forgetting.hidden:
                await asyncio.sleep(0.02)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert kept(tmp_path) == (set(), set())
