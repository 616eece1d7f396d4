"""Watches for timers, alarms and reminders that are due, and rings them."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from assistant.errors import StoreError
from assistant.events import Event, StateChanged
from assistant.memory import time_of
from assistant.skills.due.due_entries import (
    DUE_KINDS,
    NEVER,
    SNOOZABLE,
    Change,
    DueEntries,
    rung,
    snoozed,
)
from assistant.skills.due.due_times import Content, due_at, is_over
from assistant.skills.due.due_words import DueThing, missed_words, ring_words
from assistant.skills.spoken_errors import notice
from assistant.state import Entry, EntryKind

logger = logging.getLogger(__name__)

CHECK_S = 10.0
"""Longest time between two checks of the clock and the state, in seconds. The clock may be set, and
the machine may sleep."""
LATE_S = 60.0
"""Seconds. An entry that was due for longer, because nothing watched, is reported as missed."""
AGAIN_S = 30.0
"""Seconds until an entry that wasn't heard rings again, or until a retry after an error."""


class Ringer(Protocol):
    """Rings, and says what for."""

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> int:
        """Sound the bell and say `words()` once nobody speaks and no answer plays. Return the
        number of calls of `words` up to the last one whose text was heard. If there is none, return
        1 if the user silenced the bell, otherwise 0. What only later calls named rings again.

        Args:
            words: called right before each time its text is said. Returns None if there is nothing
                left to say.
            insistent: whether to repeat the bell and the text every few seconds, until they are
                silenced or a minute has passed.
        """

    def silence(self) -> bool:
        """Stop ringing. Return whether something was ringing."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What the watch knows about an entry. `at` is when it is due; `NEVER` if it is paused or
    over."""

    kind: EntryKind
    content: Content
    at: datetime


class DueWatch:
    """Rings entries when they are due. Entries that are due at the same time ring together.

    An entry counts as rung once its words have been heard. This is recorded in the store, so that
    a restart neither loses an entry nor rings it again. Entries that were due while the assistant
    was off, or while the machine slept, are reported once, in one sentence. Use this class only on
    the event loop.

    Args:
        emit: receives notices of errors.
    """

    def __init__(
        self, entries: DueEntries, ringer: Ringer, emit: Callable[[Event], object] = lambda _: None
    ) -> None:
        self.entries = entries
        self._clocks = entries.clocks
        self._ringer = ringer
        self._emit = emit
        self._changed = asyncio.Event()
        self._changes = 0
        """Number of changes of the state so far."""
        self._known: dict[str, _Known] = {}
        """All entries, by their ids."""
        self._looked_at = float("-inf")
        """The time of the last check, by the steady clock."""
        self._missed: set[str] = set()
        """Ids of entries that were due while nothing watched, and have not been reported yet."""
        self._ringing: tuple[str, ...] = ()
        """Ids of the entries that are ringing."""
        self._heard: set[str] = set()
        """Ids of the entries that were heard, until this is recorded."""
        self._failed = False

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self.entries.watch(event)
        if not isinstance(event, StateChanged) or event.kind not in DUE_KINDS:
            return
        kind = EntryKind(event.kind)
        others = {key: each for key, each in self._known.items() if each.kind is not kind}
        mine = self._timed((each.id, kind, each.content) for each in event.entries)
        self._known = others | mine
        self._changes += 1
        self._changed.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._changed.clear()
            try:
                wait_s = await self.check()
                self._failed = False
            except StoreError as error:
                wait_s = AGAIN_S
                if not self._failed:  # report it once
                    self._emit(notice(error))
                self._failed = True
            except Exception:  # whatever the error, other entries must still ring
                logger.exception("Alarms, timers or reminders that are due could not ring.")
                wait_s = AGAIN_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()

    async def check(self) -> float:
        """Ring what is due. Return the number of seconds until the next check. Raises
        StoreError."""
        await self.entries.follow_clock()
        await self._record()
        await self._read()
        self._note_missed()
        unheard = await self._ring() if self._due() else set[str]()
        self._looked_at = self._clocks.steady()
        await self._clear_away()
        return self._next_s(AGAIN_S, unheard) if unheard else self._next_s(CHECK_S)

    async def can_snooze(self) -> bool:
        """Return whether something rings now, or has rung lately. Raises StoreError."""
        return bool(await self._last_rung())

    async def snooze(self, until: datetime) -> list[Change]:
        """Snooze what rings now, or else what rang last, until `until`. Return no changes if
        nothing has rung lately. Raises StoreError."""
        keys = await self._last_rung()
        self._ringer.silence()
        return await self.entries.change(keys, lambda each: snoozed(each.content, until))

    # -- inside ---------------------------------------------------------------------------------

    async def _last_rung(self) -> tuple[str, ...]:
        """Return the ids of what rings now, or else of what rang last."""
        if self._ringing:
            return self._ringing
        rang = await self.entries.lately_rung(*DUE_KINDS)
        return tuple(
            each.id for each in rang if each.content["rang_at"] == rang[0].content["rang_at"]
        )

    async def _read(self) -> None:
        """Read all entries. If they change meanwhile, discard what was read: `watch` has taken over
        the newer state."""
        changes = self._changes
        found = await self.entries.all(*DUE_KINDS)
        known = await asyncio.to_thread(
            self._timed, [(each.id, each.kind, each.content) for each in found]
        )
        if changes == self._changes:
            self._known = known

    def _timed(self, entries: Iterable[tuple[str, EntryKind, Content]]) -> dict[str, _Known]:
        zone = self._clocks.zone()
        return {
            key: _Known(kind, content, due_at(content, zone) or NEVER)
            for key, kind, content in entries
        }

    def _due(self) -> dict[str, _Known]:
        """Return what is due and has not been heard."""
        now = self._clocks.now()
        return {
            key: each
            for key, each in self._known.items()
            if each.at <= now and key not in self._heard
        }

    def _note_missed(self) -> None:
        """If the last check was more than `LATE_S` seconds ago, note the entries that have been due
        for at least that long."""
        if self._clocks.steady() - self._looked_at > LATE_S:
            late = self._clocks.now() - timedelta(seconds=LATE_S)
            self._missed |= {key for key, each in self._due().items() if each.at <= late}

    async def _ring(self) -> set[str]:
        """Ring the entries that are due, and those that become due meanwhile. Missed entries are
        reported separately. Return the ids of entries that are still due but were not heard."""
        first = self._due()
        late = not self._missed.isdisjoint(first)
        insistent = not late and any(_insists(each) for each in first.values())
        said: list[set[str]] = []

        def words() -> str | None:
            found = {
                key: each
                for key, each in self._due().items()
                if (key in self._missed) is late and (late or insistent or not _insists(each))
            }
            said.append(set(found))
            self._ringing = tuple(found)
            now, say = self._clocks.local(), missed_words if late else ring_words
            things = [
                DueThing(each.kind, each.content, each.at.astimezone(self._clocks.zone()))
                for each in sorted(found.values(), key=lambda each: each.at)
            ]
            return say(things, now) if things else None

        try:
            heard = await self._ringer.ring(words, insistent=insistent)
        finally:
            self._ringing = ()
        if heard:
            self._heard.update(*said[:heard])
            await self._record()
            return set()
        return first.keys() & self._due().keys()

    async def _record(self) -> None:
        """Record which entries were heard. Skip those that were snoozed or set anew meanwhile,
        because they are not due any more."""
        if not self._heard:
            return
        now, zone = self._clocks.now(), self._clocks.zone()

        def record(entry: Entry) -> Content | None:
            due = (due_at(entry.content, zone) or NEVER) <= now
            return rung(entry.content, now) if due else None

        await self.entries.change(self._heard, record)
        await self._read()
        self._missed -= self._heard
        self._heard.clear()

    async def _clear_away(self) -> None:
        """Remove entries that are over and can't be snoozed any more."""
        since = self._clocks.now() - SNOOZABLE
        over = [
            key
            for key, each in self._known.items()
            if is_over(each.content) and time_of(each.content["rang_at"]) < since
        ]
        if over:
            await self.entries.clear_away(over)

    def _next_s(self, most_s: float, without: Collection[str] = ()) -> float:
        """Return the seconds until the next entry is due, but at most `most_s`.

        Args:
            without: ids of entries that don't count.
        """
        now = self._clocks.now()
        due = (each.at for key, each in self._known.items() if key not in without)
        return max(0.0, min([most_s, *((at - now).total_seconds() for at in due)]))


def _insists(known: _Known) -> bool:
    """Whether an entry rings until it is silenced. A reminder rings only once."""
    return known.kind is not EntryKind.REMINDER
