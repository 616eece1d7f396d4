"""Where memories are kept, and a store that kills who reads it."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import SettingsError, StoreDamaged
from assistant.events import Notice
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import MemoryKind, new_id
from assistant.memory.store import open_table
from assistant.memory.store import repair as module
from assistant.memory.store.location import StoreLocation, store_location
from assistant.memory.store.repair import open_store
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Memory, Settings
from tests.support.children import Say, child
from tests.support.memories import memory, stored
from tests.support.user_memory import user_memory

ABORTS = "import os; os.abort()"


def stored_at(address: str | None) -> Settings:
    return Settings(memory=Memory(store=address))


@pytest.fixture
def place(home: Home) -> StoreLocation:
    return store_location(home, Settings())


@pytest.fixture
def told() -> list[Notice]:
    return []


def dying(monkeypatch: pytest.MonkeyPatch, *which: str, code: str = ABORTS) -> None:
    """Let the process that reads the store die, as a damaged file makes it."""
    real = module._child

    def child(place: StoreLocation, how: str) -> "subprocess.Popen[bytes]":
        if how not in which:
            return real(place, how)
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)

    monkeypatch.setattr(module, "_child", child)


def set_aside(home: Home) -> list[Path]:
    return list(home.root.glob("memories.damaged-*"))


# -- where it is --------------------------------------------------------------------------------


def test_the_setting_names_a_folder_or_an_address(home: Home) -> None:
    assert store_location(home, Settings()).folder == home.memories
    assert store_location(home, stored_at("elsewhere")).folder == home.root / "elsewhere"
    assert store_location(home, stored_at("/mnt/memories")).folder == Path("/mnt/memories")
    shared = store_location(home, stored_at("s3://bucket/path"))
    assert (shared.uri, shared.folder) == ("s3://bucket/path", None)


@pytest.mark.parametrize(
    "address", ["s3://me:s3cr3t@bucket/path", "s3://bucket/path?secret=s3cr3t", "az://x/y#s3cr3t"]
)
def test_credentials_in_the_address_are_refused_and_not_repeated(home: Home, address: str) -> None:
    with pytest.raises(SettingsError, match="credentials belong in the environment") as caught:
        store_location(home, stored_at(address))
    assert "s3cr3t" not in f"{caught.value} {caught.value.mend}"


# -- what kills its reader ----------------------------------------------------------------------


def test_the_marker_is_there_while_the_store_is_read(
    place: StoreLocation, told: list[Notice]
) -> None:
    with closing(open_store(place, told.append)) as table:
        assert place.marker.exists()
        table.proved()
        assert not place.marker.exists()
    with closing(open_store(place, told.append)):
        assert place.marker.exists()
    assert not place.marker.exists(), "an orderly end is no crash"


def test_a_kill_alone_sets_nothing_aside(
    home: Home, place: StoreLocation, told: list[Notice]
) -> None:
    with closing(open_store(place, told.append)) as table:
        table.add([memory()])
    place.marker.touch()
    with closing(open_store(place, told.append)) as table:
        assert len(stored(table)) == 1
    assert (told, set_aside(home)) == ([], [])


def test_a_check_that_somebody_ended_proves_nothing(
    home: Home, place: StoreLocation, told: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(place, told.append).close()
    place.marker.touch()
    dying(monkeypatch, "check", code=f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})")
    open_store(place, told.append).close()
    assert (told, set_aside(home)) == ([], [])


def test_what_can_be_read_of_it_is_saved(
    home: Home, place: StoreLocation, told: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(
        memory("Tea, never coffee."), kind=MemoryKind.FACT, sources=(ADDED_BY_USER,), pinned=True
    )
    gone = new_id()
    with closing(open_store(place, told.append)) as table:
        table.add([mine, memory("The other user's.", user="bob")])
        table.forgotten.write([("ada", gone, True)], finished=True)
    place.marker.touch()
    dying(monkeypatch, "check")
    with closing(open_store(place, told.append)) as table:
        assert stored(table) == [mine]
        assert len(stored(table, "bob")) == 1
        table.add([replace(memory(), sources=(gone,))])
        assert stored(table) == [mine], "what was forgotten stays so"
    [aside] = set_aside(home)
    [notice] = told
    assert f"set aside as {aside.name}: 2 memories could be recovered" in notice.text
    with closing(MemoryTable.open(str(aside))) as table:
        assert stored(table) == [mine], "nothing was deleted"


def test_what_was_said_comes_back_from_the_transcript(
    home: Home, place: StoreLocation, told: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(place, told.append)) as table:
        table.add([memory("Lost.")])
    place.marker.touch()
    dying(monkeypatch, "check", "save")
    talk = Conversation.begin("ada")
    talk.append_user(1, "My dog is called Max.", datetime.now(UTC))
    transcript = Transcript.open(home.transcript)
    transcript.store(talk, talk.complete(1, "I see."))
    long_term = user_memory(lambda: open_store(place, told.append))

    async def load() -> None:
        await long_term.load(transcript)
        found = stored(long_term.table)
        await long_term.close()
        assert [each.text for each in found] == ["My dog is called Max.", "I see."]

    asyncio.run(load())
    transcript.close()
    assert "nothing could be recovered" in told[0].text
    assert "pinned or rated are lost" in told[0].text
    assert not place.marker.exists()


def test_an_object_store_cannot_be_set_aside_and_is_left_alone(
    home: Home, told: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store_location(home, stored_at("s3://bucket/path"))
    place.marker.touch()
    dying(monkeypatch, "check", "save")
    with pytest.raises(StoreDamaged, match="is damaged and can't be read") as caught:
        open_store(place, told.append)
    assert caught.value.mend is not None
    assert told == []


def abort(home: Home, say: Say) -> None:
    open_table.open_table = lambda *_: os.abort()
    open_store(store_location(home, Settings()), say)


def test_a_real_abort_leaves_the_marker(home: Home, place: StoreLocation) -> None:
    with child(abort, home) as aborted:
        assert aborted.ended() == -signal.SIGABRT
    assert place.marker.exists()
