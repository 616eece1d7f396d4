"""What the tests of the screen share."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import textual.app
import textual.pilot

FRAME_S = 0.02
"""A little more than Textual takes between two frames."""


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
