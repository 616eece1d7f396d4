"""What alarms and reminders have in common: they are found and cancelled by their time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial

from assistant.language.calendar import WEEKDAYS
from assistant.language.repeats import Repeat, occurrence
from assistant.language.schedule import Schedule, schedule
from assistant.memory import microseconds
from assistant.skills.choosing import which
from assistant.skills.due_entries import Change, DueEntries, resumed
from assistant.skills.due_times import Content
from assistant.skills.due_words import listed, sentence, time_words
from assistant.skills.skill import Reply, last_done
from assistant.state import Entry, EntryKind

UNDO_IT = "Shall I undo that?"
AT_ONCE = timedelta(microseconds=1)
HALF_DAY = 12
WEEKEND = (5, 6)
_NAMES_DAY = re.compile(
    rf"\b(?:today|tonight|tomorrow|weekend|{'|'.join(WEEKDAYS)})s?\b|\d(?:st|nd|rd|th)\b|\bof\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Planned:
    """The alarms, or the reminders, of a user.

    Attributes:
        name: returns how one is called, given its content and the words for its time: "your alarm
            for seven tomorrow".
        choice: the same for a question that offers several: "seven tomorrow".
        gone: what is said if one isn't there any more.
    """

    entries: DueEntries
    kind: EntryKind
    name: Callable[[Content, str], str]
    choice: Callable[[Content, str], str]
    gone: str

    # -- finding --------------------------------------------------------------------------------

    async def at(self, when: str | None) -> list[Entry]:
        """Return those that are set, soonest first; only those at a time, if `when` is one."""
        found = await self.entries.running(self.kind)
        read = self._read(when)
        if read is None or read.local is None or when is None:
            return found
        if "weekend" in when.lower():
            days = [_following(read.local.date(), weekday) for weekday in WEEKEND]
            return [each for each in found if any(self._on(each, day) for day in days)]
        if _NAMES_DAY.search(when) and read.repeat is None:
            found = [each for each in found if self._on(each, read.local.date())]
        elif read.repeat is not None:
            found = [each for each in found if "repeat" in each.content]
        if not read.timed:
            return found
        clock = read.local.time()
        exact = [each for each in found if self._clock(each) == clock]
        return exact or [each for each in found if _same_hands(self._clock(each), clock)]

    def spoken_time(self, content: Content) -> str:
        """Return the words for the time at which it is due: "at seven tomorrow"."""
        return time_words(content, self._local(content), self.entries.clocks.local())

    # -- calling off ----------------------------------------------------------------------------

    async def cancel(
        self, found: Sequence[Entry], when: str | None = None, *, every: bool = False
    ) -> Reply:
        """Cancel the one that is meant. Of a repetition, only the day that `when` names is left
        out."""
        act = partial(self._call_off, when=when)
        return await which(found, [self._choice(each) for each in found], act, every=every)

    async def unset(self, entry: Entry) -> Reply:
        """Undo that one was set."""
        return await self._remove([entry])

    async def shall_unset(self, entry: Entry, did: str) -> str:
        """Return the question whether to undo that one was set; empty if it is gone."""
        set_now = await self.entries.running(self.kind)
        there = any(each.id == entry.id for each in set_now)
        return last_done(did, UNDO_IT) if there else ""

    def names(self, found: Sequence[Entry]) -> str:
        return listed([self._name(each) for each in found])

    # -- inside ---------------------------------------------------------------------------------

    def _name(self, entry: Entry) -> str:
        return self.name(entry.content, self.spoken_time(entry.content))

    def _choice(self, entry: Entry) -> str:
        return self.choice(entry.content, self.spoken_time(entry.content))

    async def _call_off(self, found: Sequence[Entry], *, when: str | None) -> Reply:
        read = self._read(when)
        day = read.local.date() if when and read and read.local and not read.repeat else None
        if day is None or not _NAMES_DAY.search(when or ""):
            return await self._remove(found)
        skipped = [each for each in found if "repeat" in each.content]
        if len(skipped) < len(found):
            return await self._remove([each for each in found if "repeat" not in each.content])
        if any(self._local(each.content).date() != day for each in skipped):
            text = f"Shall I cancel {self.names(skipped)} altogether?"
            return Reply(text, if_yes=partial(self._remove, skipped))
        return await self._skip(skipped)

    async def _skip(self, found: Sequence[Entry]) -> Reply:
        """Leave out the next time of repetitions."""
        next_time = {each.id: microseconds(self._due(each.content)) for each in found}
        changed = await self.entries.change(
            next_time,
            lambda each: {**each.content, "since": next_time[each.id]},
        )
        if not changed:
            return Reply(self.gone)
        again = listed([_when_again(self._local(each.after.content)) for each in changed])
        off = "are" if len(changed) > 1 else "is"
        text = f"{self.names([each.before for each in changed])} {off} off until {again}"
        return Reply(sentence(text), undo=partial(self._put_back, changed))

    async def _put_back(self, changes: Sequence[Change]) -> Reply:
        since = {each.before.id: each.before.content["since"] for each in changes}
        now, zone = self.entries.clocks.now(), self.entries.clocks.zone()
        back = await self.entries.change(
            since, lambda each: resumed({**each.content, "since": since[each.id]}, now, zone)
        )
        if not back:
            return Reply(self.gone)
        is_on = "are" if len(back) > 1 else "is"
        return Reply(sentence(f"{self.names([each.after for each in back])} {is_on} on again"))

    async def _remove(self, found: Sequence[Entry]) -> Reply:
        removal, gone = await self.entries.remove([each.id for each in found])
        if not gone:
            return Reply(self.gone)
        text = f"Cancelled {self.names(gone)}."
        return Reply(text, undo=partial(self._bring_back, removal))

    async def _bring_back(self, removal: str) -> Reply:
        back, late = await self.entries.restore(removal)
        said = [f"{self.names(back)} {'are' if len(back) > 1 else 'is'} on again"] if back else []
        if late:
            passed = "their time has" if len(late) > 1 else "its time has"
            said.append(f"{self.names(late)} {'stay' if len(late) > 1 else 'stays'} off")
            said[-1] += f", because {passed} passed"
        return Reply(" ".join(sentence(each) for each in said) or self.gone)

    # -- times ----------------------------------------------------------------------------------

    def _read(self, when: str | None) -> Schedule | None:
        is_alarm = self.kind is EntryKind.ALARM
        return schedule(when, self.entries.clocks.local(), alarm=is_alarm) if when else None

    def _due(self, content: Content) -> datetime:
        return self.entries.due_at(content) or self.entries.clocks.now()

    def _local(self, content: Content) -> datetime:
        return self._due(content).astimezone(self.entries.clocks.zone())

    def _clock(self, entry: Entry) -> time:
        return self._local(entry.content).time().replace(second=0, microsecond=0)

    def _on(self, entry: Entry, day: date) -> bool:
        """Whether it is due on a day."""
        content, zone = entry.content, self.entries.clocks.zone()
        if "repeat" not in content:
            return self._local(content).date() == day
        midnight = datetime.combine(day, time()).replace(tzinfo=zone).astimezone()
        at = occurrence(
            datetime.fromisoformat(content["local"]),
            Repeat.from_json(content["repeat"]),
            midnight - AT_ONCE,
            zone,
        )
        return at is not None and at.astimezone(zone).date() == day


def _following(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday()) % 7)


def _same_hands(one: time, other: time) -> bool:
    """Whether a clock of twelve hours shows both times alike."""
    return (one.hour % HALF_DAY, one.minute) == (other.hour % HALF_DAY, other.minute)


def _when_again(at: datetime) -> str:
    return WEEKDAYS[at.weekday()]
