"""Local time of some place, whatever the machine's own is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LOS_ANGELES = "PST8PDT,M3.2.0,M11.1.0"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
"""With the rules of summer time written out: no machine needs a database for them."""


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Whatever asks for local time meanwhile gets this zone's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        try:
            yield
        finally:
            patch.undo()
            time.tzset()
