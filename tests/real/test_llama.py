"""llama.cpp in its worker process, with a real model."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import pytest_asyncio

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing, ModelTooLarge
from models.interfaces import Chunk, Generation, Lane, Message
from models.llm import llama
from models.llm.llama import LlamaCpp
from models.llm.llama_worker import BACKGROUND_NICE
from tests.support.language import SCHEMA, STORY, SYSTEM, collect, tiny_gguf

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

ROOT = Path(__file__).resolve().parents[2]
PAGE = " ".join(f"On day {day} the keeper counted {day * 7} ships." for day in range(1, 10))
LONG = [SYSTEM, Message("user", PAGE)]


@pytest.fixture(scope="module")
def path() -> Path:
    return tiny_gguf()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def restarts() -> list[str]:
    """The reported restarts."""
    return []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm(path: Path, restarts: list[str]) -> AsyncIterator[LlamaCpp]:
    model = LlamaCpp(path, context_tokens=4096, on_restart=restarts.append)
    await model.load()
    yield model
    await model.close()


async def begin(llm: LlamaCpp, request: Generation) -> asyncio.Task[list[Chunk]]:
    """Start a task that streams the request, and wait until the engine has the request."""

    async def read() -> list[Chunk]:
        return [chunk async for chunk in llm.stream(request)]

    task = asyncio.create_task(read())
    await asyncio.sleep(0.05)
    return task


async def test_an_answer_is_streamed_with_its_usage(llm: LlamaCpp) -> None:
    chunks = [chunk async for chunk in llm.stream(Generation(STORY, max_tokens=12))]
    assert len(chunks) > 8
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.generated_tokens == 12
    assert usage.prompt_tokens == llm.count_messages(STORY)


async def test_the_key_value_cache_uses_memory_only_as_it_is_filled(path: Path) -> None:
    """The whole cache for two lanes of 8,192 tokens has 377 MB."""
    model = LlamaCpp(path, context_tokens=8192)
    await model.load()
    try:
        assert model.worker_pid is not None
        worker = psutil.Process(model.worker_pid)
        before = worker.memory_full_info().uss
        assert before < 250 << 20
        await collect(model, Generation(STORY, max_tokens=4))
        assert worker.memory_full_info().uss < before + (40 << 20)
    finally:
        await model.close()


async def test_the_second_turn_reads_only_what_is_new(llm: LlamaCpp) -> None:
    answer, _ = await collect(llm, Generation(STORY, max_tokens=10, temperature=0))
    newest = Message("user", "And then?")
    longer = [*STORY, Message("assistant", answer), newest]
    background = [Message("user", "List three colours.")]
    await collect(llm, Generation(background, max_tokens=4, lane=Lane.BACKGROUND))
    _, usage = await collect(llm, Generation(longer, max_tokens=2))
    assert usage.read_tokens <= llm.count(newest.content) + 16
    assert usage.cached_tokens >= llm.count_messages(STORY) - 1
    _, behind = await collect(llm, Generation(background, max_tokens=2, lane=Lane.BACKGROUND))
    assert behind.read_tokens <= 2


async def test_reading_ahead_fills_the_cache_and_generates_nothing(llm: LlamaCpp) -> None:
    text, usage = await collect(llm, Generation(LONG, max_tokens=0))
    assert text == ""
    assert usage.generated_tokens == 0
    assert usage.read_tokens + usage.cached_tokens == llm.count_messages(LONG)
    assert usage.read_tokens > 80
    _, after = await collect(llm, Generation(LONG, max_tokens=1))
    assert after.read_tokens <= 2


async def test_closing_a_stream_stops_the_model_in_the_middle_of_a_sentence(llm: LlamaCpp) -> None:
    async with aclosing(llm.stream(Generation(STORY, max_tokens=2000))) as chunks:
        async for _ in chunks:
            break
    # The lane has one slot. Since the next request runs, the first one has released the slot,
    # thousands of tokens early.
    _, usage = await collect(llm, Generation(STORY, max_tokens=1))
    assert usage.read_tokens <= 2


async def test_a_request_cancelled_while_it_waits_for_its_slot_does_not_block_later_ones(
    llm: LlamaCpp,
) -> None:
    first = await begin(llm, Generation(STORY, max_tokens=30))
    second = await begin(llm, Generation(LONG, max_tokens=30))
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    chunks = await first
    assert chunks[-1].usage is not None
    assert (await collect(llm, Generation(STORY, max_tokens=1)))[1].generated_tokens == 1


@pytest.mark.parametrize("temperature", [0.0, 1.5])
async def test_a_schema_constrains_even_the_smallest_model(
    llm: LlamaCpp, temperature: float
) -> None:
    request = Generation(STORY, max_tokens=120, temperature=temperature, json_schema=SCHEMA)
    text, _ = await collect(llm, request)
    found = json.loads(text)
    assert found.keys() == {"mood", "count", "sure"}
    assert found["mood"] in {"glad", "sad"}
    assert isinstance(found["count"], int)
    assert isinstance(found["sure"], bool)


async def test_a_conversation_that_is_too_long_is_refused(llm: LlamaCpp) -> None:
    huge = [Message("user", PAGE * 50)]
    with pytest.raises(ModelFailed, match=r"tokens\) is longer than .* can hold"):
        await collect(llm, Generation(huge))


async def test_no_other_user_can_connect_to_the_engine(llm: LlamaCpp) -> None:
    worker = psutil.Process(llm.worker_pid)
    assert worker.net_connections("inet") == []
    sockets = [Path(str(each.laddr)) for each in worker.net_connections("unix") if each.laddr]
    assert sockets
    assert all(socket.parent.stat().st_mode & 0o077 == 0 for socket in sockets)


async def test_a_request_is_still_answered_if_the_worker_is_killed_before_the_first_token(
    llm: LlamaCpp, restarts: list[str]
) -> None:
    restarts.clear()
    first = llm.worker_pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    task = await begin(llm, Generation(STORY, max_tokens=4))
    os.kill(first, signal.SIGKILL)
    chunks = await task
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.generated_tokens == 4
    assert llm.worker_pid != first
    assert restarts == ["The language model's process ended (signal 9) and was restarted."]


async def test_an_answer_fails_if_the_worker_is_killed_in_the_middle_of_it(llm: LlamaCpp) -> None:
    first = llm.worker_pid
    assert first is not None
    received: list[str] = []

    async def read() -> None:
        async for chunk in llm.stream(Generation(STORY, max_tokens=1000)):
            received.append(chunk.text)
            if len(received) == 3:
                os.kill(first, signal.SIGKILL)

    with pytest.raises(ModelFailed, match="stopped in the middle of its answer"):
        await read()
    assert len(received) >= 3
    text, _ = await collect(llm, Generation(STORY, max_tokens=5))
    assert text


def kill(llm: LlamaCpp) -> None:
    assert llm.worker_pid is not None
    os.kill(llm.worker_pid, signal.SIGKILL)


async def test_a_worker_that_keeps_dying_is_not_restarted_forever(path: Path) -> None:
    reported: asyncio.Queue[str] = asyncio.Queue()
    llm = LlamaCpp(path, context_tokens=512, on_restart=reported.put_nowait)
    await llm.load()
    try:
        for _ in range(3):
            kill(llm)
            assert "was restarted" in await asyncio.wait_for(reported.get(), 60)
        kill(llm)
        assert "will be restarted when next needed" in await asyncio.wait_for(reported.get(), 60)
        assert llm.worker_pid is None
        _, usage = await collect(llm, Generation(STORY, max_tokens=1))
        assert usage.generated_tokens == 1
    finally:
        await llm.close()


async def test_closing_leaves_no_process_and_no_folder(path: Path) -> None:
    llm = LlamaCpp(path, context_tokens=512)
    await llm.load()
    assert llm.worker_pid is not None
    worker = psutil.Process(llm.worker_pid)
    addresses = [str(each.laddr) for each in worker.net_connections("unix") if each.laddr]
    folder = Path(addresses[0]).parent
    task = await begin(llm, Generation(STORY, max_tokens=400))
    await llm.close()
    await llm.close()
    with pytest.raises(ModelFailed):
        await task
    assert not worker.is_running()
    assert not folder.exists()


PARENT = """
import asyncio, sys, time
from pathlib import Path
from models.interfaces import Generation, Message
from models.llm.llama import LlamaCpp

async def main():
    llm = LlamaCpp(Path(sys.argv[1]), context_tokens=512)
    await llm.load()
    if sys.argv[2] == "holds":
        with llm.hold():
            print(llm.worker_pid, flush=True)
            time.sleep(60)
    print(llm.worker_pid, flush=True)
    async for _ in llm.stream(Generation([Message("user", "Count to a million.")], max_tokens=400)):
        pass

asyncio.run(main())
"""


async def test_a_held_worker_is_suspended_and_then_continues(llm: LlamaCpp) -> None:
    assert llm.worker_pid is not None
    worker = psutil.Process(llm.worker_pid)
    with llm.hold():
        await asyncio.sleep(0.1)
        assert (worker.status() == psutil.STATUS_STOPPED) is llama.HOLDS
    text, _ = await collect(llm, Generation(STORY, max_tokens=4))
    assert text


@pytest.mark.parametrize("doing", ["streams", "holds"])
async def test_no_worker_is_orphaned_when_the_parent_is_killed(path: Path, doing: str) -> None:
    def run() -> psutil.Process:
        with subprocess.Popen(
            [sys.executable, "-c", PARENT, str(path), doing], stdout=subprocess.PIPE, cwd=ROOT
        ) as parent:
            assert parent.stdout is not None
            worker = psutil.Process(int(parent.stdout.readline()))
            assert worker.is_running()
            parent.kill()
        return worker

    worker = await asyncio.to_thread(run)
    await asyncio.to_thread(worker.wait, 20)


async def test_starting_does_not_block_the_event_loop(path: Path) -> None:
    """The event loop keeps running while the model is loaded, in a process with its own GIL."""
    llm = LlamaCpp(path, context_tokens=512)
    loading = asyncio.create_task(llm.load())
    steps = 0
    while not loading.done():
        await asyncio.sleep(0.005)
        steps += 1
    await llm.close()
    assert steps > 20


async def test_the_worker_has_a_lower_priority(path: Path) -> None:
    own = psutil.Process()
    before, group = set(own.children()), _group(own)
    llm = LlamaCpp(path, context_tokens=512)
    try:
        await llm.load()
        (worker,) = set(own.children()) - before
        assert worker.nice() == min(19, own.nice() + BACKGROUND_NICE)
        assert _group(worker) in (None, BACKGROUND_NICE)
    finally:
        await llm.close()
    assert _group(own) == group, "the worker must lower only its own priority"


def _group(process: psutil.Process) -> int | None:
    """The nice value of the process's whole session, if the system supports it."""
    autogroup = Path(f"/proc/{process.pid}/autogroup")
    words = autogroup.read_text("ascii").split() if autogroup.is_file() else []
    return int(words[-1]) if words else None


async def test_a_cancelled_start_leaves_no_process(path: Path) -> None:
    def children() -> set[int]:
        return {child.pid for child in psutil.Process().children()}

    before = children()
    for delay, running in ((0.0, False), (0.02, False), (0.02, True)):
        llm = LlamaCpp(path, context_tokens=512)
        loading = asyncio.create_task(llm.load())
        while running and children() == before:
            await asyncio.sleep(0.005)
        await asyncio.sleep(delay)
        await llm.close()
        with pytest.raises(asyncio.CancelledError):
            await loading
    assert children() == before


async def test_a_start_that_fails_at_its_end_leaves_no_process(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise ModelFailed("does not count")

    before = {child.pid for child in psutil.Process().children()}
    monkeypatch.setattr("models.llm.llama.agree", fail)
    llm = LlamaCpp(path, context_tokens=512)
    with pytest.raises(ModelFailed, match="does not count"):
        await llm.load()
    assert {child.pid for child in psutil.Process().children()} == before
    monkeypatch.undo()
    await llm.load()
    await llm.close()


async def test_a_missing_or_damaged_or_too_large_model_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelMissing, match="no model file"):
        await LlamaCpp(tmp_path / "nothing.gguf").load()
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"<html>404</html>" * 100)
    with pytest.raises(ModelCorrupt, match="not a GGUF"):
        await LlamaCpp(junk).load()
    half = tmp_path / "half.gguf"
    half.write_bytes(path.read_bytes()[:40_000_000])
    with pytest.raises(ModelCorrupt, match="can't load"):
        await LlamaCpp(half, context_tokens=512).load()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=200_000_000))
    with pytest.raises(ModelTooLarge, match=r"needs 0\.\d GB of memory, but only 0\.2 GB is free"):
        await LlamaCpp(path).load()


async def test_a_load_that_takes_too_long_is_aborted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "LOAD_SECONDS", 0.01)
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(ModelFailed, match=r"not ready after 0\.01 s"):
        await LlamaCpp(path).load()
    assert {child.pid for child in psutil.Process().children()} == before


async def test_memory_stays_within_the_estimate(llm: LlamaCpp, path: Path) -> None:
    await collect(llm, Generation(STORY, max_tokens=2))
    worker = psutil.Process(llm.worker_pid)
    estimate = llm._describe().memory_bytes
    settled = worker.memory_info().rss
    assert settled < estimate * 1.1
    for turn in range(20):
        await collect(llm, Generation([*STORY, Message("user", f"{turn}?")], max_tokens=2))
    assert worker.memory_info().rss < settled * 1.05
