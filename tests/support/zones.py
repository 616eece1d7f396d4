"""Sets the local time zone, whatever the machine's own is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LOS_ANGELES = "PST8PDT,M3.2.0,M11.1.0"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
"""Time zones with their rules for summer time, so that no time zone database is needed."""


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Local time is this zone's in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        try:
            yield
        finally:
            patch.undo()
            time.tzset()
