"""Passes events from the assistant to whoever shows or records them."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.events import Event, Notice, Severity

logger = logging.getLogger(__name__)

Listener = Callable[[Event], None]


@dataclass(slots=True)
class EventBus:
    """Passes each event to all listeners, in order, on the thread of the caller.

    All calls of `emit` must come from the assistant's event loop. A listener must be quick and must
    not raise. A listener that raises is removed, and the other listeners receive a `Notice` about
    it.
    """

    listeners: list[Listener] = field(default_factory=list)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener. Return a function that removes it."""
        self.listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return unsubscribe

    def emit(self, event: Event) -> None:
        for listener in tuple(self.listeners):
            if listener not in self.listeners:  # it was closed because of a notice that came first
                continue
            try:
                listener(event)
            except Exception as error:
                logger.exception("A listener failed")
                if listener in self.listeners:  # otherwise, a notice that came first closed it
                    self.listeners.remove(listener)
                self.emit(
                    Notice(f"A view failed and was closed: {error}.", severity=Severity.ERROR)
                )


def from_any_thread(bus: EventBus) -> Listener:
    """Return a function that emits an event on `bus` from any thread. `bus.emit` itself may only be
    called on the event loop's thread. Call `from_any_thread` on that thread, too."""
    loop, here = asyncio.get_running_loop(), threading.get_ident()

    def emit(event: Event) -> None:
        if threading.get_ident() == here:
            bus.emit(event)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(bus.emit, event)

    return emit
