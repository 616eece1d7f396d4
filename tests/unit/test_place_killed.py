"""A damaged store is saved, and the process is killed meanwhile: what could be read is not lost."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError
from assistant.events import Notice
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store import repair as module
from assistant.memory.store.location import StoreLocation, store_location
from assistant.memory.store.repair import open_store, saving_marker
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.children import child
from tests.support.homes import holds
from tests.support.memories import memory, stored

GONE = new_id()

BETWEEN = ("MemoryTable", "import_", "after call 1")
"""Two rows, of three."""
STEPS = {
    "before the folder has another name": (None, ("Path", "rename", "before call 1")),
    "after that": (None, ("Path", "rename", "after call 1")),
    "between two rows": (MasterKey(b"k" * 32), BETWEEN),
    "before the marker goes": (None, ("Path", "unlink", "before call 1")),
}


SAMPLE = "between two rows"


@pytest.fixture
def place(home: Home) -> StoreLocation:
    return store_location(home, Settings())


@pytest.fixture
def kept(place: StoreLocation) -> list[Memory]:
    return filled(place)


def filled(place: StoreLocation) -> list[Memory]:
    """What was added by hand, in a store that killed its reader."""
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
    """Nobody listens."""


def dies(place: StoreLocation, owner: str, name: str, when: str, _say: object) -> None:
    """Sets the store aside, and is killed before or after a call of this."""
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
def test_what_was_added_by_hand_survives_a_kill(home: Home, step: str) -> None:
    key, where = STEPS[step]
    place = store_location(home, Settings(), key)
    kept = filled(place)
    kill(place, *where)
    assert key is None or holds(home.root, "Zyzzyvax") == []

    told: list[Notice] = []
    with closing(open_store(place, told.append)) as table:
        assert stored(table) == kept
        table.add([replace(memory(), sources=(GONE,))])
        assert stored(table) == kept, "what was forgotten stays so"
    assert not saving_marker(home.memories).exists()
    asides = list(home.root.glob("memories.damaged-*"))
    assert [f"set aside as {each.name}: 3 memories" in told[0].text for each in asides] == (
        [] if step.startswith("before the folder") else [True]
    )
    told.clear()
    open_store(place, told.append).close()
    assert told == [], "it is brought over once"


@pytest.mark.long
def test_two_kills_and_a_second_damage_lose_nothing(
    home: Home, place: StoreLocation, kept: list[Memory]
) -> None:
    """The half that was brought over is set aside too."""
    kill(place, *BETWEEN)
    for aside in home.root.glob("memories.damaged-*"):
        earlier = aside.rename(aside.with_name("memories.damaged-20200101-000000"))
        saving_marker(home.memories).write_text(f"{earlier.name}\n")
    kill(place, "MemoryTable", "import_", "before call 1")
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == kept
    assert len(list(home.root.glob("memories.damaged-*"))) == 2


def test_what_could_not_be_written_is_not_given_up(
    place: StoreLocation, kept: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_bears_reading", lambda _: False)
        patch.setattr(MemoryTable, "import_", full)
        with pytest.raises(StoreError, match="disk is full"):
            open_store(place, quietly)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == kept


def test_a_reader_that_somebody_ends_is_begun_again(
    place: StoreLocation, kept: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module._child

    def ended(place: StoreLocation, how: str) -> "subprocess.Popen[bytes]":
        if how == "save":
            code = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
            return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        return real(place, how)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_bears_reading", lambda _: False)
        patch.setattr(module, "_child", ended)
        with pytest.raises(StoreError, match="was interrupted"):
            open_store(place, quietly)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == kept


def test_a_row_that_is_none_keeps_no_other_out(
    place: StoreLocation, kept: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage that only shows when it is written again."""
    real = module._read_in_child

    def read(place: StoreLocation, how: str) -> list[dict[str, object]]:
        return [{"id": "x", "text": None}, *real(place, how)]

    monkeypatch.setattr(module, "_bears_reading", lambda _: False)
    monkeypatch.setattr(module, "_read_in_child", read)
    with closing(open_store(place, quietly)) as table:
        assert stored(table) == kept


def test_names_of_something_else_are_passed_over(home: Home, place: StoreLocation) -> None:
    for folder in ("other", "memories.damaged"):
        (home.root / folder).mkdir()
    saving_marker(home.memories).write_bytes(
        b"\xff\n\n..\nother\nmemories.dam\nmemories.damaged-1\n"
    )
    open_store(place, quietly).close()
    assert not saving_marker(home.memories).exists()
