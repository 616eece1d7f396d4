"""The voice loop hears and speaks in simulated time."""

from collections.abc import Callable, Mapping

import pytest

from tests.support.simulated_time import SimulatedLoop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], SimulatedLoop]]:
    return {"simulated": SimulatedLoop}
