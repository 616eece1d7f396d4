"""Gives each test its own session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.forgetting import Bench, bench


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as opened:
        yield opened
