"""Give audio processing priority over drawing the screen when the processor is busy."""

import os
import sys
from contextlib import suppress


def use_batch_scheduling() -> None:
    """Keep this thread, and threads that it starts later, from preempting others on waking up.

    Does nothing on systems other than Linux, because those systems favour sound output anyway.
    """
    if sys.platform == "linux":
        _under(os.SCHED_BATCH)


def use_default_scheduling() -> None:
    """Undo batch scheduling in this process, which may have inherited it from its parent."""
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_BATCH:
        _under(os.SCHED_OTHER)


def _under(policy: int) -> None:
    with suppress(OSError):  # a container may forbid the change; priorities then stay equal
        os.sched_setscheduler(0, policy, os.sched_param(0))
