"""Fixtures that the tests of user interfaces share."""

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
"""Seconds: a little more than Textual takes between two frames."""


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capfd)


@pytest.fixture
def running(home: Home) -> Iterator[UserMemory]:
    """The memories of a running assistant, which answers requests."""
    encoder = QueryEncoder(HashingEncoder())
    with (
        open_memory(home, Settings(), None, lambda: encoder, print) as memory,
        closing(RequestServer(home.door, memory.answer)),
    ):
        yield in_session(memory)


async def nothing_to_run(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Replaces Textual's wait after each key, which lasts until the process uses almost no
    processor time: work in other threads, or a busy machine, made it last a second."""
    loop: Any = asyncio.get_running_loop()
    last = loop.time() + max_sleep
    await asyncio.sleep(FRAME_S)
    while loop._ready and loop.time() < last:
        await asyncio.sleep(0)


@pytest.fixture(autouse=True, scope="session")
def keys_wait_only_for_the_loop() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", nothing_to_run)
        yield
