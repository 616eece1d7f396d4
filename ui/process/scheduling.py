"""Who waits for whom where the processor is short: a picture for a voice, never the other way."""

import os
import sys
from contextlib import suppress


def use_batch_scheduling() -> None:
    """From now on this thread, and those that it starts, interrupt nobody when they wake up; what
    runs goes on to the end of its slice. On Linux; other systems favour what plays sound anyhow."""
    if sys.platform == "linux":
        _under(os.SCHED_BATCH)


def use_default_scheduling() -> None:
    """No more so; a child process inherits it."""
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_BATCH:
        _under(os.SCHED_OTHER)


def _under(policy: int) -> None:
    with suppress(OSError):  # a container may forbid it: then all are equal, as they were
        os.sched_setscheduler(0, policy, os.sched_param(0))
