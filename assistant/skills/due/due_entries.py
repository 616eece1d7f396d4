"""Timers, alarms and reminders in the user's state: what their entries contain, and when each is
due.

The keys of their contents are:

    timer      name         the user's name for it; may be empty
               length_s     seconds for which it was set
               ends_at      when it ends; missing while it is paused
               left_s       seconds that are left; only while it is paused
    alarm,     words        what to be reminded of; missing for alarms
    reminder   name         the user's name for an alarm; may be empty
               at           when it is due, if that was said as a duration ("in twenty minutes")
               local        when it is due, if `at` is missing: ISO local time without a zone
               repeat       the repetition (`Repeat.as_json`); missing if there is none
               since        only occurrences after this moment count; only with `repeat`
    all        rang_at      when the user last heard it; missing if never, or if snoozed since
               snoozed_until  when it rings again; missing otherwise

Moments are microseconds since 1970 in UTC. `local` and `since` follow the clock and the zone that
are in effect when the entry is due. All other moments measure elapsed time: when the clock is set,
they are shifted. An entry that doesn't repeat is over once it has rung. It is kept for `SNOOZABLE`,
so that it can be snoozed.
"""

import asyncio
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from assistant.events import Event
from assistant.language.schedule import Schedule
from assistant.memory import microseconds, time_of
from assistant.skills.due.clocks import Clocks
from assistant.skills.due.due_times import Content, due_at, is_over
from assistant.skills.removed_entries import RemovedEntries
from assistant.state import Entry, EntryKind, StateStore

DUE_KINDS = (EntryKind.TIMER, EntryKind.ALARM, EntryKind.REMINDER)
SNOOZABLE = timedelta(minutes=10)
"""Time after ringing within which an entry can still be snoozed."""
SHIFTED = frozenset({"ends_at", "at", "rang_at", "snoozed_until"})
"""Keys of moments that measure elapsed time, and are shifted when the clock is set."""
SET_S = 1.0
"""If the difference between the clock and the steady clock changes by this many seconds, the clock
has been set."""
NEVER = datetime.max.replace(tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Change:
    """An entry before and after a change."""

    before: Entry
    after: Entry


def scheduled(when: Schedule, now: datetime) -> dict[str, Any]:
    """Return the part of an entry's content that says when the entry is due."""
    if when.after is not None:
        return {"at": microseconds(now + when.after)}
    content: dict[str, Any] = {"local": when.local.isoformat() if when.local else ""}
    if when.repeat is not None:
        content |= {"repeat": when.repeat.as_json(), "since": microseconds(now)}
    return content


def snoozed(content: Content, until: datetime) -> Content:
    """Return the new content of an entry that rings or has rung, now that it is snoozed."""
    return {**_told(content), "snoozed_until": microseconds(until)}


def rung(content: Content, now: datetime) -> Content:
    """Return the new content of an entry that was due, now that the user has heard it."""
    told = {**_told(content), "rang_at": microseconds(now)}
    if "repeat" in content:
        told["since"] = microseconds(now)
    return told


def shifted(content: Content, by: timedelta, now: datetime) -> Content:
    """Return an entry's content, adjusted after the clock was set. `by` is how far it was set
    forward (negative: back), and `now` is the new time. If the `since` of a repeating entry is now
    far in the future, the clock was wrong when `since` was stored, so `since` becomes `now`."""
    more = by // timedelta(microseconds=1)
    moved = {key: content[key] + more for key in SHIFTED & content.keys()}
    if "since" in content and time_of(content["since"]) - now > _DAY:
        moved["since"] = microseconds(now)
    return {**content, **moved}


def resumed(content: Content, now: datetime, zone: tzinfo | None) -> Content | None:
    """Return the content of an entry that is switched on again. If its time has passed, a repeating
    entry rings only at later times, and None is returned for any other entry."""
    if (due_at(content, zone) or NEVER) > now:
        return content
    if "repeat" not in content:
        return None
    still = {key: value for key, value in content.items() if key != "snoozed_until"}
    return {**still, "since": max(content["since"], microseconds(now))}


def _told(content: Content) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in ("rang_at", "snoozed_until")}


class DueEntries:
    """A user's timers, alarms and reminders.

    Each method may raise StoreError. In that case nothing has changed.
    """

    def __init__(self, store: StateStore, clocks: Clocks) -> None:
        self._store = store
        self.clocks = clocks
        self._removed = RemovedEntries(store)
        self._changing = threading.Lock()
        """Held while entries are read and changed, so that two changes can't overwrite each
        other."""
        self._offset: timedelta | None = None
        """The difference between the two clocks when the moments of the entries were last
        shifted."""

    def due_at(self, content: Content) -> datetime | None:
        return due_at(content, self.clocks.zone())

    async def follow_clock(self) -> None:
        """If the clock was set, shift the moments that measure elapsed time."""
        await asyncio.to_thread(self._follow_clock)

    async def all(self, *kinds: EntryKind) -> list[Entry]:
        """Return all entries of these kinds, including those that are over."""
        await self.follow_clock()
        return await asyncio.to_thread(self._all, kinds)

    async def running(self, kind: EntryKind) -> list[Entry]:
        """Return the entries that are set, soonest first; paused timers last."""
        pending = [each for each in await self.all(kind) if not is_over(each.content)]
        return sorted(pending, key=lambda each: self.due_at(each.content) or NEVER)

    async def lately_rung(self, *kinds: EntryKind) -> list[Entry]:
        """Return the entries that rang within the last `SNOOZABLE` and have not been snoozed,
        latest first."""
        since = microseconds(self.clocks.now() - SNOOZABLE)
        found = [
            each
            for each in await self.all(*kinds)
            if each.content.get("rang_at", since) > since and "snoozed_until" not in each.content
        ]
        return sorted(found, key=lambda each: each.content["rang_at"], reverse=True)

    async def has_rung(self, key: str) -> bool:
        """Whether this entry has rung, and won't ring again."""
        entry = await asyncio.to_thread(self._store.get, key)
        return entry is not None and is_over(entry.content)

    async def add(self, kind: EntryKind, content: Content) -> Entry:
        await self.follow_clock()  # else a later shift would move the new entry too
        (entry,) = await asyncio.to_thread(self._store.add, kind, [content])
        return entry

    async def change(
        self, keys: Collection[str], edit: Callable[[Entry], Content | None]
    ) -> list[Change]:
        """Change the entries that still exist, in one transaction.

        Args:
            edit: returns an entry's new content, or None to leave it as it is. Called in another
                thread.
        """
        await self.follow_clock()
        return await asyncio.to_thread(self._change, keys, edit)

    async def clear_away(self, keys: Collection[str]) -> None:
        """Remove entries for good."""
        await asyncio.to_thread(self._store.remove, keys)

    async def remove(self, keys: Collection[str]) -> tuple[str, list[Entry]]:
        """Remove entries. Return the key of the removal, and what was removed, oldest first."""
        return await asyncio.to_thread(self._removed.remove, keys)

    async def restore(self, removal: str) -> tuple[list[Entry], list[Entry]]:
        """Bring removed entries back. Return two lists: the restored entries, and those that stay
        removed because their time has passed. Both are empty if the removal is no longer kept, e.g.
        because something has been forgotten since."""
        return await asyncio.to_thread(self._restore, removal)

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._removed.watch(event)

    def _restore(self, removal: str) -> tuple[list[Entry], list[Entry]]:
        now, zone = self.clocks.now(), self.clocks.zone()

        def edit(entry: Entry) -> Entry | None:
            content = resumed(entry.content, now, zone)
            return replace(entry, content=content) if content is not None else None

        removed = self._removed.kept(removal)
        back = list(self._removed.restore(removal, edit))
        ids = {each.id for each in back}
        return back, [each for each in removed if each.id not in ids]

    def _follow_clock(self) -> None:
        with self._changing:
            now = self.clocks.now()
            offset = now - datetime.fromtimestamp(self.clocks.steady(), UTC)
            by = offset - (self._offset or offset)
            if self._offset is not None and abs(by) < timedelta(seconds=SET_S):
                return
            old = {each.id: each.content for each in self._all(DUE_KINDS)}
            new = {key: shifted(content, by, now) for key, content in old.items()}
            self._store.change_all({key: new[key] for key in new if new[key] != old[key]})
            self._offset = offset

    def _all(self, kinds: Collection[EntryKind]) -> list[Entry]:
        return [each for kind in kinds for each in self._store.entries(kind)]

    def _change(
        self, keys: Collection[str], edit: Callable[[Entry], Content | None]
    ) -> list[Change]:
        with self._changing:
            found = [each for key in keys if (each := self._store.get(key)) is not None]
            new = {each.id: made for each in found if (made := edit(each)) is not None}
            changed = {each.id: each for each in self._store.change_all(new)}
        return [Change(each, changed[each.id]) for each in found if each.id in changed]
