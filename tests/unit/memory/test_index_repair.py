"""Nothing is lost for good if the index or the table fails during use."""

import asyncio
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import MemoriesRead, Notice
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.forgetting.purge import purge
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from tests.support.long_term import Home, exchange, recalled
from tests.support.patience import LEISURE_S


async def test_a_failing_index_costs_one_turn_its_memories_and_is_rebuilt(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    async with home.memory(transcript=transcript) as memory:
        archive = Archive(transcript, memory)
        archive.store(talk, exchange(talk, "My dog is called Max."))
        await memory.settled()
        broken = memory.index
        broken._columns.texts.clear()
        found = await memory.recall("Where is Max?", LEISURE_S)
        assert (found.memories, found.missed) == ((), True)
        archive.store(talk, exchange(talk, "Max likes fetch."))
        await memory.settled()
        assert memory.index is not broken
        assert set(await recalled(memory, "Where is Max?")) == {
            "My dog is called Max.",
            "Max likes fetch.",
        }
        assert memory.table.count("ada") == 4
    transcript.close()


async def test_a_repeatedly_failing_index_is_rebuilt_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
        await memory.settled()
        monkeypatch.setattr(UserIndex, "search", fails)
        for _ in range(7):
            assert (await memory.recall("Where is Max?", LEISURE_S)).missed
            await memory.settled()
        monkeypatch.undo()
        assert "My dog is called Max." in await recalled(memory, "Where is Max?")
    assert sum(isinstance(event, MemoriesRead) for event in home.events) == 2
    assert [e.text for e in home.events if isinstance(e, Notice)] == [
        "This machine is too busy: searches by meaning take too long, so memories are found only"
        " by matching words."
    ]


async def test_a_rebuild_during_an_exchange_creates_no_duplicates(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    async with home.memory(transcript=transcript) as memory:
        busy = threading.Event()
        memory._writing.submit(busy.wait)
        rebuilt = asyncio.create_task(asyncio.to_thread(memory.rebuild, transcript))
        await asyncio.sleep(0.05)  # the rebuild waits for that
        Archive(transcript, memory).store(talk, exchange(talk, "My dog is called Max."))
        busy.set()
        assert await rebuilt == 2
        await memory.settled()
        assert memory.table.count("ada") == 2
    transcript.close()


async def test_a_duplicate_row_counts_once_and_can_be_forgotten(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    said = exchange(talk, "My diary is under the bed.", "")
    with closing(home.open_table()) as table:
        for _ in range(2):
            table.add(materialize_exchange("ada", talk.id, said))
        assert table.count("ada") == 2
    async with home.memory() as memory:
        assert memory.count() == 1
        hidden = HiddenItems.of("ada", [said.id], (), datetime.now(UTC))
        memory.hide(hidden)
        await asyncio.to_thread(memory.delete, materialize_exchange("ada", talk.id, said))
        memory.unhide(hidden)
        assert await recalled(memory, "Where is my diary?") == []
        assert memory.table.count("ada") == 0


async def test_a_repeated_statement_is_still_recalled_after_one_exchange_is_forgotten(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    async with home.memory(transcript=transcript) as memory:
        archive = Archive(transcript, memory)
        for _ in range(2):
            archive.store(talk, exchange(talk, "My bicycle is behind the bakery.", ""))
            await memory.settled()
        assert memory.count() == 1
        hidden = HiddenItems.of("ada", [talk.exchanges[-1].id], (), datetime.now(UTC))
        memory.hide(hidden)
        transcript.hide(hidden)
        assert await recalled(memory, "Where is my bicycle?") == []
        await asyncio.to_thread(purge, hidden, transcript, memory.table, memory)
        transcript.unhide("ada", hidden.id)
        memory.unhide(hidden)
        assert await recalled(memory, "Where is my bicycle?") == [
            "My bicycle is behind the bakery."
        ]
        assert memory.index.shown == 1
    transcript.close()


async def test_loading_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")

    def fails(*_: object, **__: object) -> None:
        raise OverflowError("date value out of range")

    with monkeypatch.context() as broken:
        broken.setattr(UserIndex, "load", fails)
        async with home.memory(transcript=transcript) as memory:
            archive = Archive(transcript, memory)
            archive.store(talk, exchange(talk, "My dog is called Max."))
            assert await recalled(memory, "Where is Max?") == ["My dog is called Max."]
            await asyncio.sleep(0)
    async with home.memory(transcript=transcript) as memory:
        assert memory.table.count("ada") == 2, "nothing was written twice"
    transcript.close()
    notices = [event.text for event in home.events if isinstance(event, Notice)]
    assert notices == ["The memories can't be read; the reason is in the log."]
