"""Updates the importance of memories according to their use, by the rules in
`memory/curation/importance.py`.

Each value that the job sets is recorded with the exchange (ids and numbers, no user text), so that
it can be told from a value that the user set. The value is recorded before the memory is changed.
If the process is killed in between, the job runs again with the same result.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import (
    DerivedOutput,
    DerivedOutputs,
    ImportanceRecord,
    Memory,
    importance_of,
    importance_record,
)

AGAIN = timedelta(hours=1)
"""Time between two passes over all memories."""
AT_ONCE = 200
"""Number of exchanges checked per call. A call takes five milliseconds."""
TOLERANCE = 0.01
"""Minimum change in importance. Smaller differences are due to rounding in the store."""


class ImportanceJob:
    """Updates the importance of one user's memories.

    Args:
        now: wall time, UTC.
    """

    kind = "importance"
    priority = 80
    recurs = False
    light = True
    version = 1

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._user = memory.user_id
        self._derived = DerivedOutputs(transcript, memory.user_id)
        self._now = now
        self._left: list[str] = []
        """Exchanges still to be checked in this pass."""
        self._due: list[str] = []
        """Exchanges that were found but not yet returned. They are kept here in case `missing` is
        cancelled."""
        self._next: datetime | None = None

    async def missing(self, limit: int) -> Sequence[str]:
        now = self._now()
        # If the clock was set back, start a new pass.
        if not self._left and (self._next is None or not self._next - AGAIN <= now < self._next):
            self._left = sorted(await asyncio.to_thread(self._transcript.exchange_ids, self._user))
            self._next = now + AGAIN
        while self._left and len(self._due) < limit:
            part = self._left[:AT_ONCE]
            self._due += await asyncio.to_thread(self._unbalanced, part)
            self._left = self._left[len(part) :]
        found, self._due = self._due[:limit], self._due[limit:]
        return found

    async def run(self, subjects: Sequence[str]) -> None:
        given = await asyncio.to_thread(self._note, subjects)
        if given:
            await asyncio.to_thread(self._memory.change, list(given), lambda old: _with(old, given))

    # -- internals ------------------------------------------------------------------------------

    def _unbalanced(self, exchanges: Collection[str]) -> list[str]:
        """Return the exchanges that have a memory with changed importance."""
        return [exchange for exchange, given in self._weighed(exchanges).items() if given]

    def _weighed(self, exchanges: Collection[str]) -> dict[str, dict[str, ImportanceRecord]]:
        """Return, for each exchange, the memories whose importance has changed, by id, with the new
        values."""
        now, before = self._now(), self._before(exchanges)
        found: dict[str, dict[str, ImportanceRecord]] = {each: {} for each in exchanges}
        for memory in self._memory.index.outlines(exchanges).values():
            # A merged memory has several sources; its id starts with that of its own exchange.
            exchange = next((each for each in memory.sources if memory.id.startswith(each)), "")
            if exchange not in found:
                continue
            known = importance_record(memory, before.get(memory.id))
            wanted = importance_of(memory, known, now)
            if abs(wanted - memory.importance) > TOLERANCE:
                found[exchange][memory.id] = replace(known, last=memory.importance, now=wanted)
        return found

    def _before(self, exchanges: Collection[str]) -> dict[str, ImportanceRecord]:
        contents: Mapping[str, Mapping[str, Any]] = self._derived.of(self.kind, exchanges)
        return {
            key: ImportanceRecord(*each)
            for content in contents.values()
            for key, each in content.items()
        }

    def _note(self, exchanges: Sequence[str]) -> dict[str, float]:
        """Record the new values. Return the values that were recorded, by memory id."""
        given: dict[str, float] = {}
        for exchange, news in self._weighed(exchanges).items():
            if not news:
                continue
            content = self._before([exchange]) | news
            raw = {
                key: [each.base, each.by_hand, each.last, each.now] for key, each in content.items()
            }
            output = DerivedOutput(exchange, raw, (exchange,))
            if self._derived.keep(self.kind, self.version, "", output, self._now()):
                given |= {key: each.now for key, each in news.items()}
        return given


def _with(memory: Memory, given: Mapping[str, float]) -> Memory:
    return replace(memory, importance=given[memory.id])
