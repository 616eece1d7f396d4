"""The skill that sets alarms, and lists and cancels them."""

from collections.abc import Callable
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.schedule import schedule
from assistant.language.second_person import spoken_topic
from assistant.skills.choosing import called
from assistant.skills.due_entries import DueEntries, scheduled
from assistant.skills.due_times import Content
from assistant.skills.due_words import bare_name, for_time, series
from assistant.skills.planned import Planned
from assistant.skills.skill import Reply
from assistant.state import Entry, EntryKind

WHAT_TIME = "For what time?"
NONE = "You have no alarms."
NONE_THEN = "You have no alarm for that time."
NO_SUCH = "You have no such alarm."
GONE = "That alarm is gone."


class Alarms:
    """Sets alarms, once or repeatedly, and lists and cancels them.

    Args:
        off_record: returns whether the session is off the record. Alarms then get no names.
    """

    kinds = frozenset({CommandKind.ALARM_SET, CommandKind.ALARM_LIST, CommandKind.ALARM_CANCEL})

    def __init__(self, entries: DueEntries, off_record: Callable[[], bool]) -> None:
        self._entries = entries
        self._off_record = off_record
        self._set_ones = Planned(entries, EntryKind.ALARM, _named, _choice, GONE)

    async def carry_out(self, command: Command) -> Reply | None:
        match command.kind:
            case CommandKind.ALARM_SET:
                return await self._set(command.name, command.when or "") or Reply(
                    WHAT_TIME, if_said=partial(self._set, command.name)
                )
            case CommandKind.ALARM_LIST:
                return await self._list(command.when)
            case _:
                return await self._cancel(command)

    async def ask(self, command: Command) -> Reply | None:
        agreed = partial(self._agreed, command)
        if command.kind is CommandKind.ALARM_SET:
            content = self._content(command.when or "")
            if content is None:
                return None
            return Reply(
                f"Shall I set an alarm {_for(self._set_ones.spoken_time(content))}?", agreed
            )
        found = await self._meant(command)
        if not found:
            return None
        if command.kind is CommandKind.ALARM_LIST:
            return Reply("Do you want to hear which alarms are set?", agreed)
        if len(found) > 1 and not command.every:
            return await self._cancel(command)
        return Reply(f"Shall I cancel {self._set_ones.names(found)}?", agreed)

    # -- inside ---------------------------------------------------------------------------------

    async def _agreed(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply(NONE)

    def _content(self, when: str) -> Content | None:
        clocks = self._entries.clocks
        read = schedule(when, clocks.local(), alarm=True)
        return {"name": "", **scheduled(read, clocks.now())} if read is not None else None

    async def _set(self, name: str | None, when: str) -> Reply | None:
        content = self._content(when)
        if content is None:
            return None
        called_so = "" if self._off_record() else bare_name(name or "")
        entry = await self._entries.add(EntryKind.ALARM, {**content, "name": called_so})
        at = _for(self._set_ones.spoken_time(entry.content))
        text = f"{spoken_topic(called_so).capitalize()} alarm" if called_so else "Alarm"
        return Reply(
            f"{text} set {at}.",
            undo=partial(self._set_ones.unset, entry.id),
            undo_question=partial(
                self._set_ones.shall_unset, entry.id, lambda _: f"set an alarm {at}"
            ),
        )

    async def _list(self, when: str | None) -> Reply:
        found = await self._set_ones.at(when)
        if not found:
            return Reply(NONE_THEN if await self._set_ones.at(None) else NONE)
        if len(found) == 1:
            at = _for(self._set_ones.spoken_time(found[0].content))
            name = spoken_topic(found[0].content.get("name", ""))
            return Reply(f"Your {f'{name} ' if name else ''}alarm is set {at}.")
        names = [_choice(each.content, self._set_ones.spoken_time(each.content)) for each in found]
        return Reply(f"Your alarms: {series(names)}.")

    async def _cancel(self, command: Command) -> Reply:
        found = await self._meant(command)
        if not found:
            return Reply(NO_SUCH if await self._set_ones.at(None) else NONE)
        return await self._set_ones.cancel(found, command.when, every=command.every)

    async def _meant(self, command: Command) -> list[Entry]:
        found = await self._set_ones.at(command.when)
        name = bare_name(command.name or "")
        if not name or command.every:
            return found
        return called(found, name, lambda each: str(each.content.get("name", "")))


def _named(content: Content, at: str) -> str:
    name = spoken_topic(content.get("name", ""))
    return f"your {f'{name} ' if name else ''}alarm {_for(at)}"


def _choice(content: Content, at: str) -> str:
    name = spoken_topic(content.get("name", ""))
    return f"{name}, {at}" if name else for_time(at)


def _for(at: str) -> str:
    """Return "for nine tomorrow", or "in twenty minutes"."""
    return at if at.startswith("in ") else f"for {for_time(at)}"
