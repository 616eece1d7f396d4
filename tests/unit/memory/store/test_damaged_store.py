"""A store with really damaged files is set aside, and what was said is restored from the
transcript, both by a running assistant and by a command."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreDamaged, StoreError
from assistant.events import Event, Notice
from assistant.memory.store import write_queue
from assistant.memory.store.location import StoreLocation, store_location
from assistant.memory.store.repair import open_store
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.memories import memory as memory_of_somebody
from tests.support.memories import stored
from tests.support.patience import LEISURE_S
from tests.support.user_memory import user_memory

USER = "ada"
SAID = "My dog is called Max."


@pytest.fixture
def place(home: Home, monkeypatch: pytest.MonkeyPatch) -> StoreLocation:
    monkeypatch.setattr(write_queue, "FIRST_RETRY_S", 0.01)
    return store_location(home, Settings())


def long_term(place: StoreLocation, tell: Callable[[Event], None]) -> UserMemory:
    return user_memory(partial(open_store, place, tell), user=USER, emit=tell)


def recorded(home: Home) -> Transcript:
    """The transcript of a conversation."""
    transcript = Transcript.open(home.transcript)
    talk = Conversation.begin(USER)
    talk.append_user(1, SAID, datetime.now(UTC))
    transcript.store(talk, talk.complete(1, "I see."))
    return transcript


def damage(folder: Path, which: str, how: str) -> None:
    for path in (folder / "memories.lance" / which).iterdir():
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes(b"\xa5" * 3_000)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LEISURE_S):
        while not true():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("which", "how"),
    [
        ("data", "garbled"),
        pytest.param("data", "gone", marks=pytest.mark.long),
        pytest.param("_versions", "garbled", marks=pytest.mark.long),
    ],
)
async def test_exchanges_are_restored_while_the_assistant_runs(
    home: Home, place: StoreLocation, which: str, how: str
) -> None:
    transcript, events = recorded(home), list[Event]()
    memory = long_term(place, events.append)
    await memory.load(transcript)
    assert memory.table.count(USER) == 2
    await memory.close()
    damage(home.memories, which, how)

    events.clear()
    memory = long_term(place, events.append)
    await memory.load(transcript)
    found = await memory.recall("Where is Max?", LEISURE_S)
    assert found.memories[0].text == SAID, "from the transcript, whatever the store is like"
    await until(lambda: memory.store.settled and memory.table.count(USER) == 2)
    assert [each.text for each in stored(memory.table, USER)] == [SAID, "I see."]
    assert memory.count() == 2
    await memory.close()
    transcript.close()

    [aside] = home.root.glob("memories.damaged-*")
    notices = [each.text for each in events if isinstance(each, Notice)]
    assert any(f"has been set aside as {aside.name}" in text for text in notices)
    assert not place.marker.exists()


def test_a_store_that_one_command_finds_damaged_is_set_aside_by_the_next_command(
    home: Home, place: StoreLocation
) -> None:
    with opened(place) as table:
        table.add([memory_of_somebody("Tea, never coffee.")])
    damage(home.memories, "data", "garbled")

    with pytest.raises(StoreDamaged), opened(place) as table:
        stored(table)
    assert not list(home.root.glob("memories.damaged-*"))
    with opened(place) as table:
        assert stored(table) == []
    assert len(list(home.root.glob("memories.damaged-*"))) == 1


@contextmanager
def opened(place: StoreLocation) -> Iterator[MemoryTable]:
    """Opens the store as a command does."""
    table = open_store(place, lambda _: None)
    try:
        yield table
    except StoreDamaged:
        table.distrust()
        raise
    finally:
        table.close()


async def test_damage_that_cannot_be_set_aside_is_reported_once(
    home: Home, place: StoreLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0

    def fails() -> MemoryTable:
        nonlocal tried
        tried += 1
        raise StoreDamaged("The memory store s3://bucket is damaged and can't be read.")

    events = list[Event]()
    memory = user_memory(fails, user=USER, emit=events.append)
    transcript = recorded(home)
    await memory.load(transcript)
    assert (await memory.recall("Where is Max?", LEISURE_S)).memories[0].text == SAID
    await until(lambda: tried == 2)
    await asyncio.sleep(0.1)
    assert tried == 2
    assert sum(isinstance(each, Notice) for each in events) == 1
    with pytest.raises(StoreError, match="is damaged"):
        _ = memory.table
    await memory.close()
    transcript.close()
