"""What is written between utterances waits while somebody speaks; what the conversation wants
written never does."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.memory.records.serialization import to_json
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import mark_of
from assistant.memory.store.write_priority import WriterThread, low_priority, yield_to_speech
from tests.support.memories import rich

PATIENCE_S = 10.0
A_WHILE_S = 0.3
"""In which what may go on would have."""


@pytest.fixture
def writing() -> Iterator[WriterThread]:
    thread = WriterThread("writing")
    yield thread
    thread.shutdown()


class Piecemeal:
    """Two operations, and a rest between them."""

    def __init__(self) -> None:
        self.first, self.may_rest, self.second = (threading.Event() for _ in range(3))

    def __call__(self) -> str:
        self.first.set()
        assert self.may_rest.wait(PATIENCE_S)
        yield_to_speech()
        self.second.set()
        return "done"


class Somebody:
    """Speaks, or not."""

    def __init__(self, *, speaks: bool = False) -> None:
        self.speaks = speaks

    def __call__(self) -> bool:
        return self.speaks


def test_the_rest_waits_until_nobody_speaks_any_more(writing: WriterThread) -> None:
    somebody, piecemeal = Somebody(), Piecemeal()
    writing.somebody = somebody
    with low_priority():
        done = writing.submit(piecemeal)
    assert piecemeal.first.wait(PATIENCE_S)
    somebody.speaks = True
    piecemeal.may_rest.set()
    assert not piecemeal.second.wait(A_WHILE_S)
    somebody.speaks = False
    assert done.result(PATIENCE_S) == "done"


def test_nothing_of_it_is_begun_while_somebody_speaks(writing: WriterThread) -> None:
    somebody, piecemeal = Somebody(speaks=True), Piecemeal()
    writing.somebody = somebody
    piecemeal.may_rest.set()
    with low_priority():
        done = writing.submit(piecemeal)
    assert not piecemeal.first.wait(A_WHILE_S)
    somebody.speaks = False
    assert done.result(PATIENCE_S) == "done"


def test_what_the_conversation_wants_written_waits_for_nobody(writing: WriterThread) -> None:
    writing.somebody = Somebody(speaks=True)
    piecemeal = Piecemeal()
    piecemeal.may_rest.set()
    with low_priority():
        before = writing.submit(piecemeal)
    assert not piecemeal.first.wait(A_WHILE_S)
    assert writing.submit(lambda: "stored").result(PATIENCE_S) == "stored"
    assert before.result(PATIENCE_S) == "done", "it stood before it in the queue"
    again = Piecemeal()
    again.may_rest.set()
    with low_priority():
        writing.submit(again)
    assert not again.first.wait(A_WHILE_S), "and then it waits again"


def test_an_end_waits_for_nobody_either() -> None:
    writing = WriterThread("writing")
    writing.somebody = Somebody(speaks=True)
    piecemeal = Piecemeal()
    piecemeal.may_rest.set()
    with low_priority():
        done = writing.submit(piecemeal)
    writing.shutdown()
    assert done.result(PATIENCE_S) == "done"


def test_what_fails_is_told_and_holds_nobody_up(writing: WriterThread) -> None:
    def fails() -> None:
        raise OSError("no")

    for how in (0, 1):
        if how:
            with low_priority():
                done = writing.submit(fails)
        else:
            done = writing.submit(fails)
        with pytest.raises(OSError, match="no"):
            done.result(PATIENCE_S)
    piecemeal = Piecemeal()
    piecemeal.may_rest.set()
    writing.somebody = Somebody(speaks=True)
    with low_priority():
        writing.submit(piecemeal)
    assert not piecemeal.first.wait(A_WHILE_S), "nothing is taken to be wanted"


async def test_work_in_other_threads_gives_way_too(writing: WriterThread) -> None:
    writing.somebody = Somebody(speaks=True)
    piecemeal = Piecemeal()
    piecemeal.may_rest.set()

    async def work() -> None:
        with low_priority():
            await asyncio.to_thread(lambda: writing.submit(piecemeal).result())

    async def in_a_conversation() -> str:
        return await asyncio.get_running_loop().run_in_executor(writing, lambda: "stored")

    working = asyncio.create_task(work())
    assert not await asyncio.to_thread(piecemeal.first.wait, A_WHILE_S)
    assert await in_a_conversation() == "stored"
    await working


def test_nobody_else_ever_rests() -> None:
    yield_to_speech()


def test_what_is_forgotten_while_it_waits_is_not_written(
    writing: WriterThread, tmp_path: Path
) -> None:
    somebody = Somebody()
    writing.somebody = somebody
    began, may_write = threading.Event(), threading.Event()
    secret = replace(rich(), sources=("e1",))
    with closing(MemoryTable.open(str(tmp_path))) as table:

        def write() -> int:
            began.set()
            assert may_write.wait(PATIENCE_S)
            return table.import_([to_json(secret)])

        with low_priority():
            done = writing.submit(write)
        assert began.wait(PATIENCE_S)
        somebody.speaks = True
        may_write.set()
        time.sleep(A_WHILE_S)
        table.forgotten.write([("ada", mark_of("e1"), True)])
        somebody.speaks = False
        assert done.result(PATIENCE_S) == 0
        assert table.count("ada") == 0
