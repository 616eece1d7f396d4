"""Helpers of all tests that drive a screen by a pilot: wait, and read the shown text."""

import asyncio
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from tests.support.patience import PATIENCE_S


async def until(pilot: Pilot[Any], happened: Callable[[], object]) -> None:
    """Wait until this condition holds.

    Raises:
        AssertionError: the condition doesn't hold within `PATIENCE_S`.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not happened():
                await asyncio.sleep(0.01)  # `pilot.pause()` would send each widget a message
    except TimeoutError:
        raise AssertionError("the condition never held") from None
    await pilot.pause()


def shown(app: App[Any]) -> str:
    """All text on the screen, line by line."""
    strips = app.screen._compositor.render_strips()[: app.size.height]
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
