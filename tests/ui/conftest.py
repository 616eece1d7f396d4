"""What the tests of user interfaces share."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import textual.app
import textual.pilot

from assistant.ipc.server import RequestServer
from assistant.memory import UserMemory, open_memory
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.command_line import Run, in_process
from tests.support.desks import in_session
from tests.support.encoders import HashingEncoder

FRAME_S = 0.02
"""A little more than Textual takes between two frames."""


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capfd)


@pytest.fixture
def running(home: Home) -> Iterator[UserMemory]:
    """The memories of a running assistant, which requests reach."""
    encoder = QueryEncoder(HashingEncoder())
    with (
        open_memory(home, Settings(), None, lambda: encoder, print) as memory,
        closing(RequestServer(home.door, memory.answer)),
    ):
        yield in_session(memory)


async def nothing_to_run(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """In place of Textual's own wait after each key, until the process uses next to no processor
    time: other threads' work, and a machine that is busy, kept it waiting for a second."""
    loop: Any = asyncio.get_running_loop()
    last = loop.time() + max_sleep
    await asyncio.sleep(FRAME_S)
    while loop._ready and loop.time() < last:
        await asyncio.sleep(0)


@pytest.fixture(autouse=True, scope="session")
def keys_wait_for_the_loop_alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", nothing_to_run)
        yield
