"""The code that alarms and reminders share: they are listed, found by their time and their words,
and cancelled."""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import NamedTuple

from assistant.intents import Command, CommandKind
from assistant.language.calendar import WEEKDAYS
from assistant.language.repeats import Repeat, occurrence
from assistant.language.schedule import Schedule, schedule
from assistant.language.spoken_times import spoken, spoken_clock, spoken_day
from assistant.memory import microseconds
from assistant.skills.due.choosing import called, which
from assistant.skills.due.due_entries import Change, DueEntries, resumed, rung
from assistant.skills.due.due_times import Content
from assistant.skills.due.due_words import RUNG_ALREADY, for_time, listed, sentence, time_words
from assistant.skills.skill import UNDO_IT, Reply, last_done
from assistant.state import Entry, EntryKind

AT_ONCE = timedelta(microseconds=1)
HALF_DAY = 12
WEEKEND = (5, 6)
_MOMENTS = frozenset({"since", "rang_at", "snoozed_until"})
_TODAY = re.compile(r"(?:for |of )?(?:today|tonight)(?:'s)?\W*", re.IGNORECASE)
_NAMES_DAY = re.compile(
    rf"\b(?:today|tonight|tomorrow|weekend|{'|'.join(WEEKDAYS)})s?\b|\d(?:st|nd|rd|th)\b|\bof\b",
    re.IGNORECASE,
)


class Wording(NamedTuple):
    """Sentences about alarms, or about reminders: that there are none (`none`), none at the named
    time (`none_then`), or none as described (`no_such`); that one no longer exists (`gone`); and
    a question that asks whether to list them (`shall_list`)."""

    none: str
    none_then: str
    no_such: str
    gone: str
    shall_list: str


class Planned(ABC):
    """The skill for a user's alarms, or for a user's reminders.

    A subclass sets and names them. Below, "one" is an alarm or a reminder.

    Args:
        off_record: returns whether the session is off the record. No words are stored then.
    """

    kind: EntryKind
    sets: CommandKind
    lists: CommandKind
    cancels: CommandKind
    wording: Wording

    def __init__(self, entries: DueEntries, off_record: Callable[[], bool]) -> None:
        self.kinds = frozenset({self.sets, self.lists, self.cancels})
        self.entries = entries
        self.off_record = off_record

    # -- to be implemented by a subclass --------------------------------------------------------

    @abstractmethod
    async def set(self, command: Command) -> Reply:
        """Set one, or ask for what is missing."""

    @abstractmethod
    def shall_set(self, command: Command) -> str:
        """Return a question that asks whether to set one; empty if there is nothing sensible to
        ask."""

    @abstractmethod
    def name(self, content: Content, at: str) -> str:
        """Return what one is called: "your alarm for seven tomorrow".

        Args:
            at: the words for the time at which it is due.
        """

    @abstractmethod
    def choice(self, content: Content, at: str) -> str:
        """Return what one is called in a question that offers several: "seven tomorrow"."""

    @abstractmethod
    def told(self, contents: Sequence[Content]) -> str:
        """Return the sentence that lists entries with these contents; at least one."""

    @abstractmethod
    def named_in(self, command: Command) -> str:
        """Return the words by which a command names one, besides its time."""

    @abstractmethod
    def words(self, content: Content) -> str:
        """Return the words that `named_in` is compared with."""

    # -- as a skill -----------------------------------------------------------------------------

    async def carry_out(self, command: Command) -> Reply | None:
        if command.kind is self.sets:
            return await self.set(command)
        return await (
            self._list(command.when) if command.kind is self.lists else self._cancel(command)
        )

    async def ask(self, command: Command) -> Reply | None:
        if command.kind is self.sets:
            question = self.shall_set(command)
            return Reply(question, partial(self.set, command)) if question else None
        found, _ = await self._meant(command)
        if not found:
            return None
        if command.kind is self.lists:
            return Reply(self.wording.shall_list, partial(self._list, command.when))
        return await self._cancel(command, sure=False)

    # -- listing and cancelling -----------------------------------------------------------------

    async def _list(self, when: str | None) -> Reply:
        found = await self._at(when)
        if not found:
            return Reply(await self._nothing(self.wording.none_then))
        return Reply(self.told([each.content for each in found]))

    async def _cancel(self, command: Command, *, sure: bool = True) -> Reply:
        """Cancel the one that is meant. If the command is not `sure`, or only some of its words
        fit, ask first."""
        found, fits = await self._meant(command)
        if not found:
            return Reply(await self._nothing(self.wording.no_such))
        act = partial(self._call_off, day=self._day(command.when), every=command.every)
        if not (sure and fits) and (command.every or len(found) == 1):
            return Reply(f"Shall I cancel {self._names(found)}?", partial(act, found))
        return await which(found, [self._choice(each) for each in found], act, every=command.every)

    async def _nothing(self, otherwise: str) -> str:
        return otherwise if await self._at(None) else self.wording.none

    async def _meant(self, command: Command) -> tuple[list[Entry], bool]:
        """Return the entries that a command may mean, and whether all of its words fit."""
        found, words = await self._at(command.when), self.named_in(command)
        return (
            called(found, words, lambda each: self.words(each.content)) if words else (found, True)
        )

    # -- undoing `set` ---------------------------------------------------------------------------

    async def unset(self, key: str) -> Reply:
        """Undo setting one. This can't be undone itself."""
        if await self.entries.has_rung(key):
            return Reply(RUNG_ALREADY)
        return replace(await self._remove([key]), undo=None)

    async def shall_unset(self, key: str, did: Callable[[Content], str]) -> str:
        """Return a question that asks whether to undo setting one; empty if it is gone."""
        set_now = await self.entries.running(self.kind)
        there = [each for each in set_now if each.id == key]
        return last_done(did(there[0].content), UNDO_IT) if there else ""

    # -- finding --------------------------------------------------------------------------------

    async def _at(self, when: str | None) -> list[Entry]:
        """Return the entries that are set, soonest first; if `when` names a time, only those at
        that time."""
        found = await self.entries.running(self.kind)
        read, day = self._read(when), self._day(when)
        if read is None or read.local is None or when is None:
            return [each for each in found if day is None or self._on(each, day)]
        if "weekend" in when.lower():
            days = [_following(read.local.date(), weekday) for weekday in WEEKEND]
            return [each for each in found if any(self._on(each, day) for day in days)]
        if day is not None:
            found = [each for each in found if self._on(each, day)]
        elif read.repeat is not None:
            found = [each for each in found if "repeat" in each.content]
        if not read.timed:
            return found
        clock = read.local.time()
        exact = [each for each in found if self._clock(each) == clock]
        return exact or [each for each in found if _same_hands(self._clock(each), clock)]

    def spoken_time(self, content: Content) -> str:
        """Return the words for the time at which it is due: "at seven tomorrow", or "every day at
        seven, and again in ten minutes" if it is snoozed."""
        words = self._usual_time(content)
        if not content.keys() >= {"repeat", "snoozed_until"}:
            return words
        at, now = self._local(content), self.entries.clocks.local()
        return f"{words}, and again {spoken(at.replace(tzinfo=None), now.replace(tzinfo=None))}"

    # -- in words -------------------------------------------------------------------------------

    def _usual_time(self, content: Content) -> str:
        return time_words(content, self._local(content), self.entries.clocks.local())

    def _names(self, found: Sequence[Entry]) -> str:
        return listed([self._name(each.content) for each in found])

    def _name(self, content: Content) -> str:
        at = self._local(content).replace(second=0, microsecond=0)  # never "in ten minutes"
        return self.name(content, time_words(content, at, self.entries.clocks.local()))

    def _choice(self, entry: Entry) -> str:
        return self.choice(entry.content, self._usual_time(entry.content))

    # -- calling off ----------------------------------------------------------------------------

    async def _call_off(
        self, found: Sequence[Entry], *, day: date | None, every: bool = False
    ) -> Reply:
        """Remove the entries. If an entry repeats, call off only `day` or only the snooze, if that
        is what is meant."""
        today = self.entries.clocks.local().date()
        only_snooze = day == today or (day is None and not every)
        single, again, repeating = list[Entry](), list[Entry](), list[Entry]()
        for each in found:
            if "repeat" in each.content and "snoozed_until" in each.content and only_snooze:
                again.append(each)
            elif "repeat" in each.content and day is not None:
                repeating.append(each)
            else:
                single.append(each)
        replies = [await self._remove([each.id for each in single])] if single else []
        replies += [await self._not_again(again)] if again else []
        replies += [await self._leave_out(repeating, day)] if repeating else []
        return _together(replies)

    async def _leave_out(self, found: Sequence[Entry], day: date | None) -> Reply:
        """Skip repeating entries on a day. If any of them is next due on another day, ask whether
        to cancel them altogether."""
        if any(self._local(each.content).date() != day for each in found):
            text = f"Shall I cancel {self._names(found)} altogether?"
            return Reply(text, if_yes=partial(self._remove, [each.id for each in found]))
        return await self._skip(found)

    async def _not_again(self, found: Sequence[Entry]) -> Reply:
        """Drop the snooze of repeating entries, which otherwise stay unchanged."""
        now = self.entries.clocks.now()
        changed = await self.entries.change(
            [each.id for each in found],
            lambda each: rung(each.content, now) if "snoozed_until" in each.content else None,
        )
        if not changed:
            return Reply(self.wording.gone)
        after = [each.after for each in changed]
        soonest = min(self._local(each.content) for each in after)
        is_today = soonest.date() == self.entries.clocks.local().date()
        until = f"until {spoken_clock(soonest)}" if is_today else "today"
        text = f"{self._names(after)} won't ring again {until}"
        return Reply(sentence(text), undo=partial(self._put_back, _moments(changed)))

    async def _skip(self, found: Sequence[Entry]) -> Reply:
        """Skip the next occurrence of repeating entries."""
        next_time = {each.id: microseconds(self._due(each.content)) for each in found}
        changed = await self.entries.change(
            next_time,
            lambda each: {**each.content, "since": next_time[each.id]},
        )
        if not changed:
            return Reply(self.wording.gone)
        again = listed([self._when_again(each.after.content) for each in changed])
        off = "are" if len(changed) > 1 else "is"
        text = f"{self._names([each.before for each in changed])} {off} off until {again}"
        return Reply(sentence(text), undo=partial(self._put_back, _moments(changed)))

    def _when_again(self, content: Content) -> str:
        """Return until when something is off: "Friday", or "noon today" if it rings several times a
        day."""
        at, now = self._local(content).replace(tzinfo=None), self.entries.clocks.local()
        if content["repeat"]["unit"] in ("minute", "hour"):
            return for_time(spoken(at, now.replace(tzinfo=None)))
        return for_time(spoken_day(at.date(), now.date()))

    async def _put_back(self, before: Mapping[str, Content]) -> Reply:
        """Undo changes to repeating entries, given the moments that each contained before."""
        now, zone = self.entries.clocks.now(), self.entries.clocks.zone()

        def edit(entry: Entry) -> Content | None:
            rest = {key: value for key, value in entry.content.items() if key not in _MOMENTS}
            return resumed({**rest, **before[entry.id]}, now, zone)

        back = await self.entries.change(before, edit)
        if not back:
            return Reply(self.wording.gone)
        is_on = "are" if len(back) > 1 else "is"
        return Reply(sentence(f"{self._names([each.after for each in back])} {is_on} on again"))

    async def _remove(self, keys: Sequence[str]) -> Reply:
        removal, gone = await self.entries.remove(keys)
        if not gone:
            return Reply(self.wording.gone)
        text = f"Cancelled {self._names(gone)}."
        return Reply(text, undo=partial(self._bring_back, removal))

    async def _bring_back(self, removal: str) -> Reply:
        back, late = await self.entries.restore(removal)
        said = [f"{self._names(back)} {'are' if len(back) > 1 else 'is'} on again"] if back else []
        if late:
            passed = "their time has" if len(late) > 1 else "its time has"
            said.append(f"{self._names(late)} {'stay' if len(late) > 1 else 'stays'} off")
            said[-1] += f", because {passed} passed"
        return Reply(" ".join(sentence(each) for each in said) or self.wording.gone)

    # -- times ----------------------------------------------------------------------------------

    def _read(self, when: str | None) -> Schedule | None:
        is_alarm = self.kind is EntryKind.ALARM
        return schedule(when, self.entries.clocks.local(), alarm=is_alarm) if when else None

    def _day(self, when: str | None) -> date | None:
        """Return the one day that the words name."""
        read = self._read(when)
        if read is None and _TODAY.fullmatch(when or ""):  # the usual time may have passed today
            return self.entries.clocks.local().date()
        if read is None or read.local is None or read.repeat is not None:
            return None
        return read.local.date() if _NAMES_DAY.search(when or "") else None

    def _due(self, content: Content) -> datetime:
        return self.entries.due_at(content) or self.entries.clocks.now()

    def _local(self, content: Content) -> datetime:
        return self._due(content).astimezone(self.entries.clocks.zone())

    def _clock(self, entry: Entry) -> time:
        return self._local(entry.content).time().replace(second=0, microsecond=0)

    def _on(self, entry: Entry, day: date) -> bool:
        """Whether an entry is due on a day."""
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


def _moments(changes: Sequence[Change]) -> dict[str, Content]:
    """Return what `_put_back` needs, without words that may have to be forgotten."""
    contents = {each.before.id: each.before.content for each in changes}
    return {
        key: {moment: content[moment] for moment in _MOMENTS & content.keys()}
        for key, content in contents.items()
    }


def _together(replies: Sequence[Reply]) -> Reply:
    """Combine the replies to several acts. Only the last may ask something. The acts are undone
    together."""
    undos = [each.undo for each in replies if each.undo is not None]
    undo = partial(_undo_all, undos) if undos else None
    return replace(replies[-1], text=" ".join(each.text for each in replies), undo=undo)


async def _undo_all(undos: Sequence[Callable[[], Awaitable[Reply]]]) -> Reply:
    return Reply(" ".join([(await undo()).text for undo in undos]))


def _following(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday()) % 7)


def _same_hands(one: time, other: time) -> bool:
    """Whether both times look the same on a twelve-hour clock."""
    return (one.hour % HALF_DAY, one.minute) == (other.hour % HALF_DAY, other.minute)
