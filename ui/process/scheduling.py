"""Gives the voice priority over the screen when the processor is busy."""

import os
import sys
from contextlib import suppress


def use_batch_scheduling() -> None:
    """From now on, this thread and those it starts don't preempt others when they wake up. Linux
    only; other systems favour sound output anyway."""
    if sys.platform == "linux":
        _under(os.SCHED_BATCH)


def use_default_scheduling() -> None:
    """Undo batch scheduling, which child processes inherit."""
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_BATCH:
        _under(os.SCHED_OTHER)


def _under(policy: int) -> None:
    with suppress(OSError):  # a container may forbid it; priorities then stay equal
        os.sched_setscheduler(0, policy, os.sched_param(0))
