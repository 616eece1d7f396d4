"""Where memories are stored, and the recovery of a store that crashes its reader, even if the
recovery itself is killed."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.errors import SettingsError, StoreDamaged, StoreError
from assistant.events import Notice
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store import open_table
from assistant.memory.store import repair as module
from assistant.memory.store.location import StoreLocation, store_location
from assistant.memory.store.repair import open_store, saving_marker
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Memory as MemorySettings
from assistant.settings import Settings
from tests.support.children import Say, child
from tests.support.homes import holds
from tests.support.memories import memory, stored
from tests.support.user_memory import user_memory

ABORTS = "import os; os.abort()"
GONE = new_id()
BETWEEN = ("MemoryTable", "put", "after call 1")
"""A kill between two of the three rows."""
STEPS = {
    "before the folder is renamed": (None, ("Path", "rename", "before call 1")),
    "after the folder is renamed": (None, ("Path", "rename", "after call 1")),
    "between two rows": (MasterKey(b"k" * 32), BETWEEN),
    "before the marker is deleted": (None, ("Path", "unlink", "before call 1")),
}
SAMPLE = "between two rows"


def stored_at(address: str | None) -> Settings:
    return Settings(memory=MemorySettings(store=address))


@pytest.fixture
def place(home: Home) -> StoreLocation:
    return store_location(home, Settings())


@pytest.fixture
def notices() -> list[Notice]:
    return []


def dying(monkeypatch: pytest.MonkeyPatch, *which: str, code: str = ABORTS) -> None:
    """Make the process that reads the store die, as a damaged file would."""
    real = module._child

    def child(place: StoreLocation, how: str) -> "subprocess.Popen[bytes]":
        if how not in which:
            return real(place, how)
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)

    monkeypatch.setattr(module, "_child", child)


def set_aside(home: Home) -> list[Path]:
    return list(home.root.glob("memories.damaged-*"))


# -- where the store is -------------------------------------------------------------------------


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


# -- a store that kills its reader --------------------------------------------------------------


def test_the_marker_exists_while_the_store_is_read(
    place: StoreLocation, notices: list[Notice]
) -> None:
    with closing(open_store(place, notices.append)) as table:
        assert place.marker.exists()
        table.proved()
        assert not place.marker.exists()
    with closing(open_store(place, notices.append)):
        assert place.marker.exists()
    assert not place.marker.exists(), "an orderly end is not a crash"


def test_a_kill_alone_does_not_set_the_store_aside(
    home: Home, place: StoreLocation, notices: list[Notice]
) -> None:
    with closing(open_store(place, notices.append)) as table:
        table.add([memory()])
    place.marker.touch()
    with closing(open_store(place, notices.append)) as table:
        assert len(stored(table)) == 1
    assert (notices, set_aside(home)) == ([], [])


def test_a_check_killed_from_outside_does_not_prove_damage(
    home: Home, place: StoreLocation, notices: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(place, notices.append).close()
    place.marker.touch()
    dying(monkeypatch, "check", code=f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})")
    open_store(place, notices.append).close()
    assert (notices, set_aside(home)) == ([], [])


def test_readable_memories_are_recovered(
    home: Home, place: StoreLocation, notices: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(
        memory("Tea, never coffee."), kind=MemoryKind.FACT, sources=(ADDED_BY_USER,), pinned=True
    )
    gone = new_id()
    with closing(open_store(place, notices.append)) as table:
        table.add([mine, memory("The other user's.", user="bob")])
        table.forgotten.write([("ada", gone, True)], finished=True)
    place.marker.touch()
    dying(monkeypatch, "check")
    with closing(open_store(place, notices.append)) as table:
        assert stored(table) == [mine]
        assert len(stored(table, "bob")) == 1
        table.add([replace(memory(), sources=(gone,))])
        assert stored(table) == [mine], "forgotten exchanges stay forgotten"
    [aside] = set_aside(home)
    [notice] = notices
    assert f"set aside as {aside.name}: 2 memories could be recovered" in notice.text
    with closing(MemoryTable.open(str(aside))) as table:
        assert stored(table) == [mine], "nothing was deleted"


def test_exchanges_are_restored_from_the_transcript(
    home: Home, place: StoreLocation, notices: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(place, notices.append)) as table:
        table.add([memory("Lost.")])
    place.marker.touch()
    dying(monkeypatch, "check", "save")
    talk = Conversation.begin("ada")
    talk.append_user(1, "My dog is called Max.", datetime.now(UTC))
    transcript = Transcript.open(home.transcript)
    transcript.store(talk, talk.complete(1, "I see."))
    long_term = user_memory(lambda: open_store(place, notices.append))

    async def load() -> None:
        await long_term.load(transcript)
        found = stored(long_term.table)
        await long_term.close()
        assert [each.text for each in found] == ["My dog is called Max.", "I see."]

    asyncio.run(load())
    transcript.close()
    assert "nothing could be recovered" in notices[0].text
    assert "pinned or rated is lost" in notices[0].text
    assert not place.marker.exists()


def test_an_object_store_cannot_be_set_aside_and_is_left_alone(
    home: Home, notices: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store_location(home, stored_at("s3://bucket/path"))
    place.marker.touch()
    dying(monkeypatch, "check", "save")
    with pytest.raises(StoreDamaged, match="is damaged and can't be read") as caught:
        open_store(place, notices.append)
    assert caught.value.mend is not None
    assert notices == []


def abort(home: Home, say: Say) -> None:
    open_table.open_table = lambda *_: os.abort()
    open_store(store_location(home, Settings()), say)


def test_a_real_abort_leaves_the_marker(home: Home, place: StoreLocation) -> None:
    with child(abort, home) as aborted:
        assert aborted.ended() == -signal.SIGABRT
    assert place.marker.exists()


# -- killed while it is recovered -----------------------------------------------------------------


@pytest.fixture
def by_hand(place: StoreLocation) -> list[Memory]:
    return filled(place)


def filled(place: StoreLocation) -> list[Memory]:
    """Adds memories by hand to a store, and marks it as having killed its reader."""
    rows = [
        replace(memory(text, at=at), kind=MemoryKind.FACT, sources=(ADDED_BY_USER,))
        for at, text in enumerate(["Tea, never Zyzzyvax.", "The key is below the stone.", "No."])
    ]
    with closing(open_store(place, quietly)) as table:
        table.add(rows)
        table.forgotten.write([("ada", GONE, True)], finished=True)
    place.marker.touch()
    return rows


def quietly(_: Notice) -> None:
    """Discards the notice."""


def dies(place: StoreLocation, owner: str, name: str, when: str, _say: object) -> None:
    """Sets the store aside, and is killed before or after a call of the named method."""
    where = {"Path": Path, "MemoryTable": MemoryTable}[owner]
    real, calls = getattr(where, name), 0

    def killed(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if when == f"before call {calls}":
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(*arguments, **more)
        if when == f"after call {calls}":
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(where, name, killed)
    vars(module).update(_bears_reading=lambda _: False, SAVED_AT_ONCE=1)
    open_store(place, quietly)


def kill(place: StoreLocation, owner: str, name: str, when: str) -> None:
    with child(dies, place, owner, name, when) as dying:
        assert dying.ended() == -signal.SIGKILL


@pytest.mark.parametrize(
    "step",
    [step if step == SAMPLE else pytest.param(step, marks=pytest.mark.long) for step in STEPS],
)
def test_memories_added_by_hand_survive_a_kill(home: Home, step: str) -> None:
    key, where = STEPS[step]
    place = store_location(home, Settings(), key)
    by_hand = filled(place)
    kill(place, *where)
    assert key is None or holds(home.root, "Zyzzyvax") == []

    notices: list[Notice] = []
    with closing(open_store(place, notices.append)) as table:
        assert stored(table) == by_hand
        table.add([replace(memory(), sources=(GONE,))])
        assert stored(table) == by_hand, "forgotten exchanges stay forgotten"
    assert not saving_marker(home.memories).exists()
    asides = list(home.root.glob("memories.damaged-*"))
    assert [f"set aside as {each.name}: 3 memories" in notices[0].text for each in asides] == (
        [] if step.startswith("before the folder") else [True]
    )
    notices.clear()
    open_store(place, notices.append).close()
    assert notices == [], "the memories are recovered only once"


@pytest.mark.long
def test_two_kills_and_a_second_damage_lose_nothing(
    home: Home, place: StoreLocation, by_hand: list[Memory]
) -> None:
    """The half-recovered store is set aside too."""
    kill(place, *BETWEEN)
    for aside in home.root.glob("memories.damaged-*"):
        earlier = aside.rename(aside.with_name("memories.damaged-20200101-000000"))
        saving_marker(home.memories).write_text(f"{earlier.name}\n")
    kill(place, "MemoryTable", "put", "before call 1")
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == by_hand
    assert len(list(home.root.glob("memories.damaged-*"))) == 2


def test_recovery_is_retried_after_a_failed_write(
    place: StoreLocation, by_hand: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_bears_reading", lambda _: False)
        patch.setattr(MemoryTable, "put", full)
        with pytest.raises(StoreError, match="disk is full"):
            open_store(place, quietly)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == by_hand


def test_recovery_is_repeated_if_its_reader_is_killed(
    place: StoreLocation, by_hand: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "_bears_reading", lambda _: False)
        dying(patch, "save", code=f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})")
        with pytest.raises(StoreError, match="was interrupted"):
            open_store(place, quietly)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == by_hand


def test_an_invalid_row_does_not_block_recovery(
    place: StoreLocation, by_hand: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some damage shows only when a row is written again."""
    real = module._read_in_child

    def read(place: StoreLocation, how: str) -> list[dict[str, object]]:
        return [{"id": "x", "text": None}, *real(place, how)]

    monkeypatch.setattr(module, "_bears_reading", lambda _: False)
    monkeypatch.setattr(module, "_read_in_child", read)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == by_hand


def test_unrelated_names_in_the_list_are_ignored(home: Home, place: StoreLocation) -> None:
    for folder in ("other", "memories.damaged"):
        (home.root / folder).mkdir()
    saving_marker(home.memories).write_bytes(
        b"\xff\n\n..\nother\nmemories.dam\nmemories.damaged-1\n"
    )
    open_store(place, quietly).close()
    assert not saving_marker(home.memories).exists()
