"""Deletes conversations older than a configured age from the transcript, a few exchanges at a time.

The memories derived from these conversations remain, but without a source. Even a rebuild doesn't
delete them.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from assistant.errors import StoreError
from assistant.memory.transcript.database import AT_ONCE, Transcript

logger = logging.getLogger(__name__)

FIRST_S = 10.0
"""Seconds from the start to the first deletion. By then, a clock that was wrong when the machine
booted has been corrected.
"""
AGAIN_S = 86_400.0
NOT_YET_S = 60.0
"""Seconds to wait before the next check if some memories are not in the store yet."""
BREATH_S = 0.05
"""Seconds between two transactions."""


async def expire_daily(
    transcript: Transcript,
    user: str,
    age: timedelta,
    running: str,
    stored: Callable[[], bool],
) -> None:
    """Until cancelled, delete a user's old conversations soon after the start and then daily.

    Args:
        running: id of the current conversation, which is not deleted, whatever its age.
        stored: returns whether all memories are in the store. As long as some are missing, nothing
            is deleted, because they can only be derived from the transcript.
    """
    pause = FIRST_S
    while True:
        await asyncio.sleep(pause)
        if not stored():
            pause = NOT_YET_S
            continue
        pause = AGAIN_S
        try:
            gone = await expire(transcript, user, datetime.now(UTC) - age, running)
        except StoreError as error:
            logger.warning("old conversations are kept for now: %s", error)
        else:
            logger.info("deleted %d exchanges of old conversations from the transcript", gone)


async def expire(transcript: Transcript, user: str, before: datetime, running: str) -> int:
    """Delete conversations that ended before a time; return the number of exchanges deleted.

    Raises:
        StoreError: the transcript failed. Call the function again later.
    """
    total = 0
    while gone := await asyncio.to_thread(transcript.expire, user, before, AT_ONCE, running):
        total += gone
        await asyncio.sleep(BREATH_S)
    return total
