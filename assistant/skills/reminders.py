"""The skill that sets reminders, and lists and cancels them."""

from collections.abc import Callable
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.reminder_phrases import reminder_of
from assistant.language.schedule import Schedule, schedule
from assistant.language.second_person import spoken_topic
from assistant.memory import says_unknown
from assistant.skills.choosing import called
from assistant.skills.due_entries import DueEntries, scheduled
from assistant.skills.due_times import Content
from assistant.skills.due_words import series
from assistant.skills.planned import Planned
from assistant.skills.remembering import NOTHING, OFF_RECORD
from assistant.skills.skill import Reply
from assistant.state import Entry, EntryKind

OF_WHAT = "What should I remind you of?"
WHEN = "When should I remind you?"
WHEN_EXACTLY = "When exactly should I remind you?"
NONE = "You have no reminders."
NONE_THEN = "You have no reminders for that time."
NO_SUCH = "You have no such reminder."
GONE = "That reminder is gone."


class Reminders:
    """Sets reminders, once or repeatedly, and lists and cancels them.

    Args:
        off_record: returns whether the session is off the record. Nothing is noted then.
    """

    kinds = frozenset(
        {CommandKind.REMINDER_SET, CommandKind.REMINDER_LIST, CommandKind.REMINDER_CANCEL}
    )

    def __init__(self, entries: DueEntries, off_record: Callable[[], bool]) -> None:
        self._entries = entries
        self._off_record = off_record
        self._set_ones = Planned(entries, EntryKind.REMINDER, _named, _choice, GONE)

    async def carry_out(self, command: Command) -> Reply | None:
        match command.kind:
            case CommandKind.REMINDER_SET if self._off_record():
                return Reply(OFF_RECORD)
            case CommandKind.REMINDER_SET:
                return await self._begin(command.words, command.when)
            case CommandKind.REMINDER_LIST:
                return await self._list(command.when)
            case _:
                return await self._cancel(command)

    async def ask(self, command: Command) -> Reply | None:
        agreed = partial(self._agreed, command)
        if command.kind is CommandKind.REMINDER_SET:
            if not command.words or self._off_record():
                return None
            read = self._read(command.when or "")
            at = f" {self._time(read)}" if read is not None else ""
            return Reply(f"Shall I remind you{at} {reminder_of(command.words)}?", agreed)
        found = await self._meant(command)
        if not found:
            return None
        if command.kind is CommandKind.REMINDER_LIST:
            return Reply("Do you want to hear your reminders?", agreed)
        if len(found) > 1 and not command.every:
            return await self._cancel(command)
        return Reply(f"Shall I cancel {self._set_ones.names(found)}?", agreed)

    # -- setting --------------------------------------------------------------------------------

    async def _agreed(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply(NONE)

    async def _begin(self, words: str | None, when: str | None) -> Reply:
        """Set a reminder, or ask for what is missing."""
        if not (words or "").strip(" .,!?"):
            return Reply(OF_WHAT, if_said=partial(self._told_words, when))
        read = self._read(when or "")
        if read is None:
            question = WHEN_EXACTLY if when else WHEN
            return Reply(question, if_said=partial(self._told_time, words or ""))
        return await self._set(words or "", read)

    async def _told_words(self, when: str | None, words: str) -> Reply | None:
        if says_unknown(words):
            return Reply(NOTHING) if says_unknown(words, only=True) else None
        return await self._begin(words, when)

    async def _told_time(self, words: str, when: str) -> Reply | None:
        read = self._read(when)
        return await self._set(words, read) if read is not None else None

    async def _set(self, words: str, when: Schedule) -> Reply:
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD)
        content = {"words": words.strip(" .,!?"), **scheduled(when, self._entries.clocks.now())}
        entry = await self._entries.add(EntryKind.REMINDER, content)
        what = f"{self._set_ones.spoken_time(content)} {reminder_of(content['words'])}"
        return Reply(
            f"I'll remind you {what}.",
            undo=partial(self._set_ones.unset, entry.id),
            undo_question=partial(self._set_ones.shall_unset, entry.id, _set_one),
        )

    # -- reading and cancelling -----------------------------------------------------------------

    async def _list(self, when: str | None) -> Reply:
        found = await self._set_ones.at(when)
        if not found:
            return Reply(NONE_THEN if await self._set_ones.at(None) else NONE)
        if len(found) == 1:
            content = found[0].content
            what = f"{self._set_ones.spoken_time(content)} {reminder_of(content['words'])}"
            return Reply(f"You have one reminder, {what}.")
        things = [
            f"{self._set_ones.spoken_time(each.content)}, {spoken_topic(each.content['words'])}"
            for each in found
        ]
        return Reply(f"Your reminders: {series(things)}.")

    async def _cancel(self, command: Command) -> Reply:
        found = await self._meant(command)
        if not found:
            return Reply(NO_SUCH if await self._set_ones.at(None) else NONE)
        return await self._set_ones.cancel(found, command.when, every=command.every)

    async def _meant(self, command: Command) -> list[Entry]:
        found = await self._set_ones.at(command.when)
        if not command.words:
            return found
        return called(found, command.words, lambda each: str(each.content["words"]))

    def _read(self, when: str) -> Schedule | None:
        return schedule(when, self._entries.clocks.local())

    def _time(self, when: Schedule) -> str:
        return self._set_ones.spoken_time(scheduled(when, self._entries.clocks.now()))


def _named(content: Content, at: str) -> str:
    del at
    return f"the reminder {reminder_of(content['words'])}"


def _set_one(content: Content) -> str:
    return f"set a reminder {reminder_of(content['words'])}"


def _choice(content: Content, at: str) -> str:
    return f"{spoken_topic(content['words'])}, {at}"
