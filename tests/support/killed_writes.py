"""A transcript whose process dies at a chosen write."""

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.memory.transcript.database import Transcript


def dying_transcript(
    path: Path, kill_at: int, *, after: bool
) -> tuple[Transcript, Callable[[], int]]:
    """Open a transcript. This process dies, as by kill -9, before or `after` the write with the
    number `kill_at` is committed; the first one has the number 1. Also return a function that
    counts the writes so far."""
    transcript = Transcript.open(path)
    writes, writing = 0, transcript.writing

    @contextmanager
    def watched() -> Iterator[sqlite3.Connection]:
        nonlocal writes
        writes += 1
        dies = writes == kill_at
        with writing() as db:
            yield db
            if dies and not after:
                os.kill(os.getpid(), signal.SIGKILL)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    transcript.writing = watched  # type: ignore[method-assign]
    return transcript, lambda: writes
