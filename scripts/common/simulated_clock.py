"""Gives the assistant's modules a simulated time instead of the machine's."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from typing import Any
from unittest.mock import patch

PACKAGE = "assistant"


@contextmanager
def simulated_clock(now: Callable[[], datetime]) -> Iterator[None]:
    """Inside the block, `datetime.now` returns `now()` in all of the assistant's modules that were
    loaded when the block began. Sleeping and measured times are not affected.

    Args:
        now: returns a time with a time zone.
    """

    class Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, datetime)

    class Simulated(datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            local = now().astimezone(tz)
            return local if tz is not None else local.replace(tzinfo=None)

    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            ours = name.partition(".")[0] == PACKAGE
            if ours and getattr(module, "datetime", None) is datetime:
                stack.enter_context(patch.object(module, "datetime", Simulated))
        yield


@contextmanager
def local_zone(name: str) -> Iterator[None]:
    """Use a time zone, such as "Europe/London", as the local one inside the block."""
    try:
        with patch.dict(os.environ, {"TZ": name}):
            time.tzset()
            yield
    finally:
        time.tzset()
