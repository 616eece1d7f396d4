"""Two homes share a store, and both transcripts hold the same exchange: neither home brings back
what one of them has forgotten."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import Event, ForgettingBegan, ForgettingDone, Notice
from assistant.language.speakers import USER
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.audit import audit
from assistant.memory.forgetting.elsewhere import forgotten_elsewhere
from assistant.memory.forgetting.purge import purge_due_at_start
from assistant.memory.forgetting.verify import OTHERS
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store import write_queue
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from tests.support.desks import forget_now
from tests.support.forgetting import START, Bench, Window, bench
from tests.support.memories import stored
from tests.support.remains import pages

SECRET = "My dog Max barks at every postman."
KEPT = "On Fridays I play the cello with dentists."
DERIVED = "Somebody owns a noisy animal."


class Shared:
    """Home A, in which everything was said, its copy B (or a backup), and the store they share."""

    def __init__(self, root: Path) -> None:
        self.a, self.b, self.store = (root / name for name in ("a", "b", "store"))
        self.talk = Conversation.begin("ada")
        self.told: dict[str, str] = {}

    async def begin(self) -> None:
        self.a.mkdir()
        async with self.on_a() as here:
            secret, other = await here.tell_all(SECRET, KEPT)
            self.told = {SECRET: secret.id, KEPT: other.id}
            sources = (self.told[SECRET],)
            fact = Memory(new_id(), "ada", MemoryKind.FACT, DERIVED, START, sources=sources)
            await asyncio.to_thread(here.memory.put, [fact])
        shutil.copytree(self.a, self.b)

    async def forget(self) -> None:
        """Forgets the secret on A, including the final deletion."""
        async with self.on_a() as here:
            await here.forgetting.hide([self.told[SECRET]], ())
            assert await here.purge_later()

    def on_a(self) -> AbstractAsyncContextManager[Bench]:
        return bench(self.a, self.talk, store=self.store)

    @asynccontextmanager
    async def on_b(self) -> AsyncIterator[Bench]:
        """A session on B that continues the conversation as B's transcript has it."""
        with closing(Transcript.open(self.b / "transcript.sqlite3")) as transcript:
            last = transcript.resume("ada", timedelta.max)
        talk = last or Conversation(self.talk.id, "ada")
        async with bench(self.b, talk, store=self.store) as here:
            yield here

    def in_store(self) -> set[str]:
        with closing(MemoryTable.open(str(self.store))) as table:
            return {each.text for each in stored(table) if each.speaker == USER}

    def holding(self, *words: str) -> list[str]:
        """The files of B that contain any of the words."""
        return [
            name for name, data in pages(self.b) if any(word.encode() in data for word in words)
        ]


@pytest.fixture
async def shared(tmp_path: Path) -> Shared:
    made = Shared(tmp_path)
    await made.begin()
    return made


async def assert_forgotten(here: Bench, shared: Shared) -> None:
    """Asserts that the secret is neither recalled nor restored, and everything else still is."""
    for _ in range(2):
        assert await here.recalled(SECRET) <= {KEPT}
        assert await here.recalled(KEPT) == {KEPT}
        assert here.transcript.exchange_ids("ada") == {shared.told[KEPT]}
        assert {each.text for each in stored(here.memory.table)} == {KEPT, "I see."}
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        await here.memory.settled()


async def test_a_home_forgets_at_its_start_what_the_other_home_has_forgotten(
    shared: Shared,
) -> None:
    assert shared.holding(SECRET) != []
    await shared.forget()
    async with shared.on_b() as here:
        assert shared.told[SECRET] in here.window.dropped
        assert SECRET not in {each.user_text for each in here.window.talk.exchanges}
        await assert_forgotten(here, shared)
        verified = await asyncio.to_thread(audit, here.memory.table, here.transcript, [SECRET])
        assert verified.found == ()
        assert OTHERS in verified.unprovable
    assert shared.holding(SECRET, "barks at") == []
    [receipt] = receipts.read(shared.b)
    assert receipt["clean"]
    assert receipt["exchanges"] == 1
    async with shared.on_b() as here:
        await assert_forgotten(here, shared)
    assert len(receipts.read(shared.b)) == 1, "once is enough"


async def test_a_forgotten_memory_that_waits_for_an_unreachable_store_is_never_written(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(write_queue, "LONGEST_RETRY_S", 0.02)
    away = [True]

    def unless_away() -> MemoryTable:
        if away:
            raise StoreError("The memory can't be reached.")
        return MemoryTable.open(str(shared.store))

    with monkeypatch.context() as start:
        start.setattr(MemoryTable, "open", lambda _: unless_away())
        session = shared.on_b()
        here = await session.__aenter__()
        monkeypatch.setattr(here.memory.store, "_open_table", unless_away)
    try:
        assert SECRET in await here.recalled(SECRET)
        said = here.tell("Tea, never coffee.")
        await shared.forget()
        away.clear()
        await here.memory.writable.wait()
        await here.memory.settled()
        assert await here.recalled("Who barks at the postman?") <= {KEPT, "Tea, never coffee."}
        assert here.transcript.exchange_ids("ada") == {shared.told[KEPT], said.id}
        assert shared.told[SECRET] in here.window.dropped
        assert not any(SECRET in text for text in here.memory._encoder.texts())
    finally:
        await session.__aexit__(None, None, None)
    assert shared.in_store() == {KEPT, "Tea, never coffee."}
    assert shared.holding(SECRET) == []


class Killed(BaseException):
    """Stands for the death of the process: no handler catches it."""


@pytest.mark.parametrize(("owner", "next_home"), [(Transcript, "b"), (MemoryTable, "a")])
async def test_a_purge_killed_after_writing_its_tombstone_is_finished_by_the_next_start(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, owner: type, next_home: str
) -> None:
    def die(*_: object) -> int:
        raise Killed

    with closing(Transcript.open(shared.a / "transcript.sqlite3")) as transcript:
        with closing(MemoryTable.open(str(shared.store))) as table, monkeypatch.context() as deadly:
            deadly.setattr(owner, "delete_exchanges" if owner is Transcript else "delete", die)
            admin = MemoryAdmin("ada", table, lambda: transcript, lambda: pytest.fail("not needed"))
            with pytest.raises(Killed):
                await asyncio.to_thread(forget_now, admin, [f"{shared.told[SECRET]}-{USER}"])
            assert table.forgotten.unfinished
        with closing(MemoryTable.open(str(shared.store))) as table:
            assert audit(table, transcript).found != ()
    assert SECRET in shared.in_store()
    async with shared.on_b() if next_home == "b" else shared.on_a() as here:
        assert not here.memory.table.forgotten.unfinished
        verified = await asyncio.to_thread(audit, here.memory.table, here.transcript, [SECRET])
        assert verified.layout.clean
        assert verified.found == ()
        assert here.window.dropped == [shared.told[SECRET]]
        await assert_forgotten(here, shared)
    assert shared.holding(SECRET) == [] or next_home == "a"


async def test_an_exchange_being_deleted_is_not_recalled_where_its_deletion_fails(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine that may only read."""
    with closing(MemoryTable.open(str(shared.store))) as table:
        table.forgotten.write([("ada", shared.told[SECRET], True)])

    def busy(*_: object) -> int:
        raise StoreError("The transcript is busy.")

    monkeypatch.setattr(Transcript, "delete_exchanges", busy)
    async with shared.on_b() as here:
        assert await here.recalled(SECRET) <= {KEPT}
        assert await here.recalled(DERIVED) <= {KEPT}
        assert KEPT in await here.recalled(KEPT)


async def test_the_running_conversation_drops_the_exchange_and_its_user_is_notified() -> None:
    bus, window = EventBus(), Window(Conversation.begin("ada"))
    events: list[Event] = []
    bus.subscribe(events.append)
    window.talk.append_user(1, SECRET, START)
    gone = {window.talk.complete(1, "I see.").id, new_id()}
    forgotten_elsewhere(HiddenItems.of("ada", gone, (), START), window, bus.emit)
    assert window.talk.exchanges == ()
    assert set(window.dropped) == gone
    began, done, notice = events
    assert isinstance(began, ForgettingBegan)
    assert set(began.exchanges) == gone, "the screen erases these exchanges"
    assert done == ForgettingDone(began.id)
    assert isinstance(notice, Notice)
    assert notice.text.endswith("and now here as well: 2 exchanges.")


async def test_an_undone_request_leaves_no_tombstone(shared: Shared) -> None:
    async with shared.on_a() as here:
        await here.forgetting.hide([shared.told[SECRET]], ())
        assert await here.forgetting.undo() is not None
        assert await here.purge_later()
        assert len(here.memory.table.forgotten) == 0
    async with shared.on_b() as here:
        assert SECRET in await here.recalled(SECRET)
    assert not (shared.store / "forgotten.lance").exists()


def test_a_tombstone_never_deletes_the_exchanges_of_another_user(tmp_path: Path) -> None:
    """Not even if a tombstone of one user names an exchange of another."""
    gone: list[tuple[str, set[str]]] = []

    def on_gone(user: str, exchanges: Collection[str]) -> None:
        gone.append((user, set(exchanges)))

    with (
        closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript,
        closing(MemoryTable.open(str(tmp_path / "memories"))) as table,
    ):
        ids = {}
        for user in ("ada", "bob"):
            talk = Conversation.begin(user)
            talk.append_user(1, SECRET, START)
            exchange = talk.complete(1, "I see.", ended=START)
            transcript.store(talk, exchange)
            ids[user] = exchange.id
            table.add([said(user, exchange.id)])
        table.forgotten.write([("bob", ids["ada"], True)])  # an error, or a forgery
        purge_due_at_start(transcript, table, on_gone=on_gone)
        assert gone == []
        table.forgotten.write([("ada", ids["ada"], True)])
        purge_due_at_start(transcript, table, on_gone=on_gone)
        assert gone == [("ada", {ids["ada"]})]
        assert transcript.exchange_ids("ada") == set()
        assert transcript.exchange_ids("bob") == {ids["bob"]}
        assert [len(stored(table, user)) for user in ("ada", "bob")] == [0, 1]
        table.add([said("bob", ids["bob"])])
        assert table.count("bob") == 2


def test_forgotten_memories_leave_the_write_queue_when_the_store_can_be_opened(
    tmp_path: Path,
) -> None:
    x = new_id()
    with closing(MemoryTable.open(str(tmp_path))) as table:
        table.forgotten.write([("ada", x, True)], finished=True)
    opened = partial(MemoryTable.open, str(tmp_path))
    link = write_queue.WriteQueue(opened, MemoryTable.close, print, print)
    other = replace(said("ada", new_id()), text=KEPT)
    link.wait([said("ada", x), other])
    assert link.open()
    assert link.read(lambda _: None, lambda _: False) == [other]
    link.flush()
    assert link.settled
    link.close()


@pytest.mark.parametrize("more", [0, 2_000])
async def test_a_transcript_reports_which_of_the_given_exchanges_it_holds(
    shared: Shared, more: int
) -> None:
    ids = {*shared.told.values(), *(new_id() for _ in range(more))}
    async with shared.on_a() as here:
        assert here.transcript.held("ada", ids) == set(shared.told.values())
        await here.forgetting.hide([shared.told[SECRET]], ())
        assert here.transcript.held("ada", ids) == set(shared.told.values()), (
            "including hidden exchanges"
        )
        assert here.transcript.held("bob", ids) == here.transcript.held("ada", ()) == set()


def said(user: str, exchange: str, *others: str) -> Memory:
    sources = (exchange, *others)
    return Memory(f"{exchange}-{USER}", user, MemoryKind.EXCHANGE, SECRET, START, sources=sources)


WRITES: list[Callable[[MemoryTable, list[Memory]], object]] = [
    lambda table, memories: table.add(memories),
    lambda table, memories: table.put(memories),
]


@pytest.mark.parametrize("write", WRITES, ids=["add", "put"])
def test_no_kind_of_write_restores_a_forgotten_exchange(
    tmp_path: Path, write: Callable[[MemoryTable, list[Memory]], object]
) -> None:
    x, y, fact = new_id(), new_id(), new_id()
    merged = said("ada", y, x)
    resting = replace(merged, id=new_id(), kind=MemoryKind.FACT, sources=(x,))
    every = [
        said("ada", x),
        said("ada", x, y),  # its words are the forgotten ones
        resting,
        replace(resting, id=fact, sources=("you",)),
        replace(resting, id="a word", sources=("you",)),
    ]
    with closing(MemoryTable.open(str(tmp_path))) as table:
        table.forgotten.write([("ada", x, True)])
        with table.forgotten.during("ada", (), every[3:]):
            """The table is still empty."""
        write(table, [*every, merged])
        assert [(m.id, m.sources) for m in stored(table)] == [(merged.id, (y,))]
        table.update([merged])
        assert [m.sources for m in stored(table)] == [(y,)]
    with closing(MemoryTable.open(str(tmp_path))) as table:
        write(table, every)
        assert table.count("ada") == 1


async def test_an_import_leaves_out_exchanges_forgotten_since_the_export(shared: Shared) -> None:
    async with shared.on_a() as here:
        memory, transcript = here.memory, here.transcript
        admin = MemoryAdmin("ada", memory.table, lambda: transcript, lambda: memory, memory=memory)
        rows = list(admin.export())
        assert len(rows) == 5
        await here.forgetting.hide([shared.told[SECRET]], ())
        assert await here.purge_later()
        assert await asyncio.to_thread(admin.import_, rows) == 2
        assert await here.recalled(SECRET) <= {KEPT}
        await asyncio.to_thread(memory.put, [said("ada", shared.told[SECRET])])
        assert await here.recalled(SECRET) <= {KEPT}
    assert shared.in_store() == {KEPT}
