"""Low-priority writes wait while someone speaks; those of the conversation never wait."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import mark_of
from assistant.memory.store.write_priority import WriterThread, low_priority, yield_to_speech
from tests.support.memories import rich
from tests.support.patience import PATIENCE_S

A_WHILE_S = 0.3
"""Seconds within which work that need not wait would begin."""


class Writing(WriterThread):
    """A writer thread, and a flag that says whether someone speaks."""

    def __init__(self) -> None:
        super().__init__("writing")
        self.speech = False
        self.somebody = lambda: self.speech


@pytest.fixture
def writing() -> Iterator[Writing]:
    thread = Writing()
    yield thread
    thread.shutdown()


class TwoSteps:
    """Two operations, and a pause between them."""

    def __init__(self, *, pause: bool = False) -> None:
        self.first, self.may_go_on, self.second = (threading.Event() for _ in range(3))
        if not pause:
            self.may_go_on.set()

    def __call__(self) -> str:
        self.first.set()
        assert self.may_go_on.wait(PATIENCE_S)
        yield_to_speech()
        self.second.set()
        return "done"


def submitted(writing: WriterThread, work: TwoSteps) -> "Future[str]":
    with low_priority():
        return writing.submit(work)


def test_work_waits_between_two_operations_until_nobody_speaks(writing: Writing) -> None:
    work = TwoSteps(pause=True)
    done = submitted(writing, work)
    assert work.first.wait(PATIENCE_S)
    writing.speech = True
    work.may_go_on.set()
    assert not work.second.wait(A_WHILE_S)
    writing.speech = False
    assert done.result(PATIENCE_S) == "done"


def test_work_does_not_begin_while_someone_speaks(writing: Writing) -> None:
    writing.speech = True
    work = TwoSteps()
    done = submitted(writing, work)
    assert not work.first.wait(A_WHILE_S)
    writing.speech = False
    assert done.result(PATIENCE_S) == "done"


def test_writes_of_the_conversation_never_wait(writing: Writing) -> None:
    writing.speech = True
    work, more = TwoSteps(), TwoSteps()
    before = submitted(writing, work)
    assert not work.first.wait(A_WHILE_S)
    assert writing.submit(lambda: "stored").result(PATIENCE_S) == "stored"
    assert before.result(PATIENCE_S) == "done", "it was queued first"
    submitted(writing, more)
    assert not more.first.wait(A_WHILE_S), "and then low-priority work waits again"


def test_shutting_down_does_not_wait_for_silence() -> None:
    writing = Writing()
    writing.speech = True
    done = submitted(writing, TwoSteps())
    writing.shutdown()
    assert done.result(PATIENCE_S) == "done"


def test_failures_are_reported_and_block_nothing(writing: Writing) -> None:
    def fails() -> None:
        raise OSError("no")

    with low_priority():
        gentle = writing.submit(fails)
    for done in (gentle, writing.submit(fails)):
        with pytest.raises(OSError, match="no"):
            done.result(PATIENCE_S)
    writing.speech = True
    work = TwoSteps()
    submitted(writing, work)
    assert not work.first.wait(A_WHILE_S), "failed work no longer counts as waiting"


async def test_work_submitted_from_other_threads_waits_too(writing: Writing) -> None:
    writing.speech = True
    work = TwoSteps()
    with low_priority():
        working = asyncio.create_task(asyncio.to_thread(lambda: writing.submit(work).result()))
    assert not await asyncio.to_thread(work.first.wait, A_WHILE_S)
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(writing, lambda: "stored") == "stored"
    await working


def test_other_threads_never_wait() -> None:
    yield_to_speech()


def test_a_memory_forgotten_while_its_write_waits_is_not_written(
    writing: Writing, tmp_path: Path
) -> None:
    began, may_write = threading.Event(), threading.Event()
    secret = replace(rich(), sources=("e1",))
    with closing(MemoryTable.open(str(tmp_path))) as table:

        def write() -> int:
            began.set()
            assert may_write.wait(PATIENCE_S)
            return table.put([secret])

        with low_priority():
            done = writing.submit(write)
        assert began.wait(PATIENCE_S)
        writing.speech = True
        may_write.set()
        time.sleep(A_WHILE_S)
        table.forgotten.write([("ada", mark_of("e1"), True)])
        writing.speech = False
        assert done.result(PATIENCE_S) == 0
        assert table.count("ada") == 0
