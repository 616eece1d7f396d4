"""The worker process is stopped for a moment, and never for longer."""

import asyncio
import subprocess
import sys
from contextlib import aclosing

import psutil
import pytest

from models.interfaces import Generation, Message
from models.llm.llama import HOLDS, LlamaCpp
from tests.support.language import tiny_gguf

pytestmark = pytest.mark.real

HOLDER = """
import asyncio, sys, time
from pathlib import Path
from models.llm.llama import LlamaCpp

async def main():
    model = LlamaCpp(Path(sys.argv[1]), context_tokens=512)
    await model.load()
    with model.hold():
        print(model.worker_pid, flush=True)
        time.sleep(60)

asyncio.run(main())
"""


async def test_a_held_worker_stands_still_and_goes_on() -> None:
    model = LlamaCpp(tiny_gguf(), context_tokens=512)
    await model.load()
    assert model.worker_pid is not None
    worker = psutil.Process(model.worker_pid)
    with model.hold():
        await asyncio.sleep(0.1)
        assert (worker.status() == psutil.STATUS_STOPPED) is HOLDS
    request = Generation(messages=[Message("user", "Say hello.")], max_tokens=4)
    async with aclosing(model.stream(request)) as chunks:
        assert "".join([chunk.text async for chunk in chunks])
    await model.close()
    assert not worker.is_running()


def test_a_worker_held_by_a_parent_that_is_killed_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tiny_gguf())], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        _, alive = psutil.wait_procs([worker], timeout=20)
    assert alive == []
