"""What all tests that drive a screen by a pilot do: wait, and read what is shown."""

import asyncio
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from tests.support.patience import PATIENCE_S


async def until(pilot: Pilot[Any], happened: Callable[[], object]) -> None:
    """Wait for something that comes of what was done.

    Raises:
        AssertionError: it does not happen.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not happened():
                await asyncio.sleep(0.01)  # a pause of the pilot's costs each widget a message
    except TimeoutError:
        raise AssertionError("it never happens") from None
    await pilot.pause()


def shown(app: App[Any]) -> str:
    """All that stands on the screen, line by line."""
    strips = app.screen._compositor.render_strips()[: app.size.height]
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
