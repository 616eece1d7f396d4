"""Deletes conversations older than a setting from the transcript, a few exchanges at a time. Their
memories stay; they then have no source, and a rebuild keeps them."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from assistant.errors import StoreError
from assistant.memory.transcript.database import AT_ONCE, Transcript
from assistant.settings import Settings

logger = logging.getLogger(__name__)

FIRST_S = 10.0
"""Seconds after the start: nobody waits for it, and a clock that was wrong at boot is right by
then."""
AGAIN_S = 86_400.0
NOT_YET_S = 60.0
"""Seconds to wait while memories are not in their store."""
BREATH_S = 0.05
"""Seconds between two transactions."""


class Retention:
    """Expires old conversations.

    Args:
        conversation: the running one, which stays whatever its age.
        stored: whether all memories are in the store; until then, nothing is deleted that they
            could be made from.
    """

    def __init__(
        self,
        transcript: Transcript,
        settings: Settings,
        conversation: str,
        stored: Callable[[], bool],
    ) -> None:
        self._transcript = transcript
        self._user = settings.general.user
        self._days = settings.transcript.keep_days
        self._conversation = conversation
        self._stored = stored

    async def run(self) -> None:
        """Run soon after the start and then daily, until cancelled."""
        pause = FIRST_S
        while True:
            await asyncio.sleep(pause)
            if not self._stored():
                pause = NOT_YET_S
                continue
            pause = AGAIN_S
            try:
                gone = await self.expire(datetime.now(UTC))
            except StoreError as error:
                logger.warning("old conversations are kept for now: %s", error)
            else:
                logger.info("deleted %d exchanges of old conversations from the transcript", gone)

    async def expire(self, now: datetime) -> int:
        """Delete what is too old at `now`; returns the number of exchanges.

        Raises:
            StoreError: the transcript could not be written; call it again later.
        """
        if self._days is None:
            return 0
        before, total = now - timedelta(days=self._days), 0
        while gone := await asyncio.to_thread(
            self._transcript.expire, self._user, before, AT_ONCE, self._conversation
        ):
            total += gone
            await asyncio.sleep(BREATH_S)
        return total
