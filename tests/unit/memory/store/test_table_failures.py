"""Failures of the memory store: a second writer, damage, a full disk, and kills."""

import os
import random
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import StoreError
from assistant.language.speakers import ASSISTANT
from assistant.memory.store import open_table, rewrite
from assistant.memory.store.table import MemoryTable
from tests.support.children import Say, child
from tests.support.memories import memory, rich, stored
from tests.support.talking import OBEYING

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[MemoryTable]:
    with closing(MemoryTable.open(str(tmp_path / "memory"))) as opened:
        yield opened


def in_a_child(
    work: Callable[[Path, Say], None], folder: Path, *, limited: bool = False
) -> list[str]:
    """The lines that a child process prints. `limited` makes even root respect file modes."""
    if not limited:
        with child(work, folder) as opened:
            return list(opened.rest())
    code = (
        "import sys; from pathlib import Path\n"
        f"from {work.__module__} import {work.__name__} as work\n"
        "work(Path(sys.argv[1]), print)"
    )
    done = subprocess.run(
        [*OBEYING, sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines()


# -- who may write ------------------------------------------------------------------------------


def opening(folder: Path, say: Say) -> None:
    try:
        MemoryTable.open(str(folder))
        say("open")
    except StoreError as error:
        say(str(error))


def test_a_second_writer_is_refused_and_told_which_process_is_the_first(
    table: MemoryTable, tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    said = f"The memory store {folder} is in use by another assistant (process {os.getpid()})."
    assert in_a_child(opening, folder) == [said]
    with pytest.raises(StoreError) as caught:
        MemoryTable.open(str(folder))
    assert str(caught.value) == said
    table.add([memory()])
    table.close()
    table.close()
    assert in_a_child(opening, folder) == ["open"]


def test_a_closed_table_refuses_every_use(table: MemoryTable) -> None:
    table.close()
    uses: tuple[Callable[[], object], ...] = (
        lambda: table.add([memory()]),
        lambda: table.count("ada"),
        table.compact,
        table.rewrite,
    )
    for use in uses:
        with pytest.raises(StoreError, match="is closed"):
            use()


def test_a_fragmented_table_wants_compaction_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "MOST_FRAGMENTS", 3)
    with closing(MemoryTable.open(str(tmp_path / "memory"))) as table:
        for _ in range(3):
            table.add([memory()])
    with closing(MemoryTable.open(str(tmp_path / "memory"))) as table:
        assert table.wants_compaction()


def test_only_the_owner_may_read_the_folder(table: MemoryTable, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "memory").stat().st_mode) == 0o700


# -- what may be wrong with the folder ----------------------------------------------------------


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_newer_schema_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "memory"
    ran: list[int] = []

    def add_mood(table: open_table.Table) -> None:
        ran.append(1)
        table.add_columns({"mood": "'good'"})

    kept = rich()
    with closing(MemoryTable.open(str(folder))) as table:
        table.add([kept])
    with monkeypatch.context() as newer:
        newer.setattr(open_table, "MIGRATIONS", (*open_table.MIGRATIONS, add_mood))
        for _ in range(2):
            with closing(MemoryTable.open(str(folder))) as table:
                assert stored(table) == [kept]
                assert table.update([replace(kept, uses=9)]) == 1
                table.update([kept])
    assert ran == [1], "a migration runs once"
    before = content(folder / "memories.lance")
    with pytest.raises(StoreError, match="newer version") as caught:
        MemoryTable.open(str(folder))
    assert caught.value.mend is not None
    assert content(folder / "memories.lance") == before


def test_a_migration_that_was_killed_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fragile(_table: open_table.Table) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(open_table, "MIGRATIONS", (*open_table.MIGRATIONS, fragile))
    with pytest.raises(KeyboardInterrupt):
        MemoryTable.open(str(tmp_path / "memory"))
    MemoryTable.open(str(tmp_path / "memory")).close()
    MemoryTable.open(str(tmp_path / "memory")).close()
    assert len(calls) == 2


def filled(folder: Path) -> Path:
    with closing(MemoryTable.open(str(folder))) as table:
        for number in range(3):
            table.add([memory(str(number)) for _ in range(50)])
    return folder / "memories.lance"


@pytest.mark.parametrize("how", ["garbled", "emptied", "gone"])
@pytest.mark.parametrize("which", ["data", "_versions"])
def test_damage_is_reported_with_advice(tmp_path: Path, which: str, how: str) -> None:
    inside = filled(tmp_path / "memory")
    for path in (inside / which).iterdir():
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes(b"\xa5" * 3_000 if how == "garbled" else b"")
    with (
        pytest.raises(StoreError, match=r"The memory store \S+ is damaged\.") as caught,
        closing(MemoryTable.open(str(tmp_path / "memory"))) as table,
    ):
        stored(table)
    assert "rebuild" in str(caught.value.mend)
    with pytest.raises(StoreError, match="damaged"):  # and the lock was released
        stored(MemoryTable.open(str(tmp_path / "memory")))


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("no folder")
    with pytest.raises(StoreError, match=r"The memory .* failed: .*File exists"):
        MemoryTable.open(str(tmp_path / "memory"))


def writing(table: MemoryTable, text: str, say: Say) -> None:
    try:
        table.add([memory(text)])
        say("stored")
    except StoreError as error:
        say(str(error))


def writing_to_a_full_disk(folder: Path, say: Say) -> None:
    table = MemoryTable.open(str(folder))
    writing(table, "before", say)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    writing(table, os.urandom(100_000).hex(), say)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    writing(table, "after", say)
    say(str(table.count("ada")))


def writing_to_a_read_only_folder(folder: Path, say: Say) -> None:
    table = MemoryTable.open(str(folder))
    writing(table, "before", say)
    inside = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in inside:
        path.chmod(0o500)
    writing(table, "refused", say)
    say(str(table.count("ada")))
    for path in inside:
        path.chmod(0o700)
    writing(table, "after", say)
    say(str(table.count("ada")))


def test_a_full_disk_is_reported_and_writing_continues_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    assert in_a_child(writing_to_a_full_disk, folder) == [
        "stored",
        f"The disk is full: nothing can be stored in the memory store {folder}.",
        "stored",
        "2",
    ]


def test_a_folder_that_becomes_read_only_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    lines = in_a_child(writing_to_a_read_only_folder, folder, limited=True)
    assert lines == ["stored", f"The memory store {folder} can't be written.", "1", "stored", "2"]


@pytest.mark.parametrize("existing", [False, True])
def test_opening_in_a_read_only_folder_is_reported(tmp_path: Path, existing: bool) -> None:
    folder = tmp_path / "memory"
    if existing:
        filled(folder)
        for path in folder.rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        folder.chmod(0o500)
    tmp_path.chmod(0o500)
    try:
        [said] = in_a_child(opening, folder, limited=True)
    finally:
        tmp_path.chmod(0o700)
        if existing:
            folder.chmod(0o700)
            for path in folder.rglob("*"):
                path.chmod(0o700)
    assert said == f"The memory store {folder} can't be written."


# -- kill -9 ------------------------------------------------------------------------------------


def write(folder: Path, say: Say) -> None:
    table = MemoryTable.open(str(folder))
    table.add_encoder("small", 8)
    say("open")
    for turn in range(100_000):
        said = memory(f"question {turn} " + "word " * 50, at=turn)
        heard = replace(memory(f"answer {turn}", at=turn), speaker=ASSISTANT)
        table.add([said, heard])
        say((said.id, heard.id))
        if turn % 5 == 4:
            table.set_vectors("ada", "small", [said.id], np.ones((1, 8), np.float32))
        if turn % 7 == 6:
            table.compact()


def campaign(folder: Path, kills: int) -> None:
    """Kill a writer at random moments; what it acknowledged must be there each time."""
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for _ in range(kills):
        with child(write, folder) as dying:
            assert dying.hear() == "open"
            dying.kill_in(chance.uniform(0, 0.5))
            for pair in dying.rest():
                acknowledged.update(pair)
            assert dying.ended() == -signal.SIGKILL
        with closing(MemoryTable.open(str(folder))) as table:
            found = [each.id for each in stored(table)]
        assert len(found) == len(set(found)), "no memory is stored twice"
        assert acknowledged <= set(found)
    assert len(acknowledged) > 2 * kills


def test_no_acknowledged_write_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    campaign(tmp_path / "memory", 2)


@pytest.mark.long
def test_no_acknowledged_write_is_lost_in_two_hundred_kills(tmp_path: Path) -> None:
    campaign(tmp_path / "memory", 200)
