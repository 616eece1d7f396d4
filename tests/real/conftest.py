"""What the tests on real models and real sound share."""

from collections.abc import Iterator

import pytest

from tests.support.pulse import PulseServer


@pytest.fixture(scope="module")
def pulse_server() -> Iterator[PulseServer]:
    """A private sound server; `pulse` makes sure that it is whole before each test."""
    with PulseServer() as server:
        yield server


@pytest.fixture
def pulse(pulse_server: PulseServer) -> Iterator[PulseServer]:
    """The private sound server with both its devices and no echo. Children get `pulse.env`."""
    yield pulse_server
    pulse_server.restore()
