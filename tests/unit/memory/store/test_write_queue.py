"""The handling of memories while their store can't be reached or written."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import Notice
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.serialization import FIELDS
from assistant.memory.store import write_queue
from assistant.memory.store.lance_schema import Batch
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from tests.support.long_term import Home, exchange, recalled
from tests.support.patience import LEISURE_S

AWAY = StoreError("The memory can't be reached.", mend="Check the network.")
BACK = "Memories can be stored again."


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(write_queue, "LONGEST_RETRY_S", 0.02)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reasons for which no table can be opened or added to. With "late", memories are added before
    the error is raised; with "reading", tables can be opened, but scans break off."""
    reasons: list[str] = []
    add, merge = MemoryTable.add, MemoryTable.put
    scan, opening = MemoryTable.scan, MemoryTable.open

    def fragile(
        self: MemoryTable, memories: Sequence[Memory], vectors: Mapping[str, Vectors] | None = None
    ) -> None:
        if reasons != ["late"]:
            check()
        add(self, memories, vectors)
        check()

    def merged(self: MemoryTable, memories: Sequence[Memory]) -> int:
        check()
        return merge(self, memories)

    def check() -> None:
        if reasons:
            raise AWAY

    def broken(
        self: MemoryTable,
        user_id: str,
        columns: Sequence[str] = FIELDS,
        vectors: Sequence[str] = (),
        ids: Sequence[str] | None = None,
    ) -> Iterator[Batch]:
        rows = scan(self, user_id, columns, vectors, ids)
        yield from () if reasons else rows
        check()

    def opened(uri: str) -> MemoryTable:
        if reasons != ["reading"]:
            check()
        return opening(uri)

    monkeypatch.setattr(MemoryTable, "add", fragile)
    monkeypatch.setattr(MemoryTable, "put", merged)
    monkeypatch.setattr(MemoryTable, "scan", broken)
    monkeypatch.setattr(MemoryTable, "open", opened)
    return reasons


async def until_reported(home: Home, text: str, times: int = 1) -> None:
    while [e.text for e in home.events if isinstance(e, Notice)].count(text) < times:
        await asyncio.sleep(0.005)


async def test_queued_memories_are_written_when_the_store_is_back(
    tmp_path: Path, away: list[str]
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        for how in ("away", "late"):
            away.append(how)
            memory.remember(talk.id, exchange(talk, f"My dog is called Max {how}."))
            memory.remember(talk.id, exchange(talk, f"The cat is {how} too."))
            assert len(await recalled(memory, f"Is Max {how}?")) >= 1
            await memory.settled()
            assert not memory.store.settled
            away.clear()
            await until_reported(home, BACK, 1 + (how == "late"))
            await memory.settled()
            assert memory.store.settled
        assert memory.table.count("ada") == 8, "nothing is lost or stored twice"
    notices = [e.text for e in home.events if isinstance(e, Notice)]
    assert notices == [str(AWAY), BACK, str(AWAY), BACK]


@pytest.mark.parametrize("how", ["away", "reading"])
async def test_a_store_unreachable_at_the_start_is_read_later(
    tmp_path: Path, away: list[str], how: str
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    first = exchange(talk, "My dog is called Max.")
    transcript.store(talk, first)
    async with home.memory(transcript=transcript) as memory:
        memory.put([Memory("m1", "ada", MemoryKind.FACT, "Tea, never coffee.", datetime.now(UTC))])
    away.append(how)
    async with home.memory(transcript=transcript) as memory:
        assert await recalled(memory, "What is the dog called?") == ["My dog is called Max."]
        with pytest.raises(StoreError, match="can't be reached"):
            memory.delete([])
        second = exchange(talk, "My cat is called Kim.")
        transcript.store(talk, second)
        memory.remember(talk.id, second)
        away.clear()
        await memory.writable.wait()
        await memory.settled()
        assert (await recalled(memory, "Is it tea or coffee?"))[0] == "Tea, never coffee."
        assert "My cat is called Kim." in await recalled(memory, "What is the cat called?")
        assert memory.table.count("ada") == 5
    transcript.close()


async def test_a_wrong_clock_does_no_harm(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    ahead = datetime.now(UTC) + timedelta(days=3_000)
    talk.append_user(1, "My dog is called Max.", ahead)
    transcript.store(talk, talk.complete(1, "I see.", ended=ahead - timedelta(hours=1)))
    for _ in range(2):
        async with home.memory(transcript=transcript) as memory:
            said = exchange(talk, "My dog is called Rex.")
            transcript.store(talk, said)
            memory.remember(talk.id, said)
            await memory.settled()
            found = (await memory.recall("What is my dog called?", LEISURE_S)).memories
            assert {"My dog is called Max.", "My dog is called Rex."} <= {f.text for f in found}
            assert all(-2.0 < each.score < 2.0 for each in found)
            assert memory.store.settled
    assert len(transcript.exchange_ids("ada")) == 3
    transcript.close()
