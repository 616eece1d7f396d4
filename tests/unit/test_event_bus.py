"""What happens to listeners that fail."""

from functools import partial

import pytest

from assistant.event_bus import EventBus
from assistant.events import Event, Notice, UserSensed


def failing(_: Event) -> None:
    raise OSError("the disk is full")


def test_a_listener_that_fails_is_removed_and_the_others_are_told() -> None:
    bus, received = EventBus(), list[Event]()
    bus.subscribe(failing)
    bus.subscribe(received.append)
    for _ in range(2):
        bus.emit(UserSensed())
    told, first, second = received
    assert isinstance(told, Notice)
    assert "the disk is full" in told.text
    assert (first, second) == (UserSensed(), UserSensed())


@pytest.mark.parametrize("count", [2, 3])
def test_several_listeners_that_fail_at_the_same_event_are_all_removed(count: int) -> None:
    bus, received = EventBus(), list[Event]()
    for _ in range(count):
        bus.subscribe(partial(failing))
    bus.subscribe(received.append)
    bus.emit(UserSensed())
    assert bus.listeners == [received.append]
    assert len([each for each in received if isinstance(each, Notice)]) == count
