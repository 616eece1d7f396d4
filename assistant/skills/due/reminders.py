"""The skill that sets, lists and cancels reminders."""

from collections.abc import Sequence
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.reminder_phrases import reminder_of
from assistant.language.schedule import Schedule
from assistant.language.second_person import spoken_topic
from assistant.memory import says_unknown
from assistant.skills.due.due_entries import scheduled
from assistant.skills.due.due_times import Content
from assistant.skills.due.due_words import series
from assistant.skills.due.planned import Planned, Wording
from assistant.skills.skill import Reply
from assistant.skills.spoken_statements import NOTHING, OFF_RECORD
from assistant.state import EntryKind

OF_WHAT = "What should I remind you of?"
WHEN = "When should I remind you?"
WHEN_EXACTLY = "When exactly should I remind you?"
NONE = "You have no reminders."
NONE_THEN = "You have no reminders for that time."
NO_SUCH = "You have no such reminder."
GONE = "That reminder is gone."
SHALL_LIST = "Do you want to hear your reminders?"


class Reminders(Planned):
    """Sets reminders that ring once or repeatedly, lists them, and cancels them. Off the record, it
    sets none."""

    kind = EntryKind.REMINDER
    sets, lists = CommandKind.REMINDER_SET, CommandKind.REMINDER_LIST
    cancels = CommandKind.REMINDER_CANCEL
    wording = Wording(NONE, NONE_THEN, NO_SUCH, GONE, SHALL_LIST)

    async def set(self, command: Command) -> Reply:
        return await self._begin(command.words, command.when)

    def shall_set(self, command: Command) -> str:
        if not command.words or self.off_record():
            return ""
        read = self._read(command.when)
        at = f" {self.spoken_time(self._times(read))}" if read is not None else ""
        return f"Shall I remind you{at} {reminder_of(command.words)}?"

    def name(self, content: Content, at: str) -> str:
        del at
        return f"the reminder {reminder_of(content['words'])}"

    def choice(self, content: Content, at: str) -> str:
        return f"{spoken_topic(content['words'])}, {at}"

    def told(self, contents: Sequence[Content]) -> str:
        if len(contents) == 1:
            return f"You have one reminder, {self._what(contents[0])}."
        things = [f"{self.spoken_time(c)}, {spoken_topic(c['words'])}" for c in contents]
        return f"Your reminders: {series(things)}."

    def named_in(self, command: Command) -> str:
        return command.words or ""

    def words(self, content: Content) -> str:
        return str(content["words"])

    # -- inside ---------------------------------------------------------------------------------

    async def _begin(self, words: str | None, when: str | None) -> Reply:
        """Set a reminder, or ask for what is missing."""
        if self.off_record():  # perhaps only after a question was asked
            return Reply(OFF_RECORD)
        if not (words or "").strip(" .,!?"):
            return Reply(OF_WHAT, if_said=partial(self._told_words, when))
        read = self._read(when)
        if read is None:
            question = WHEN_EXACTLY if when else WHEN
            return Reply(question, if_said=partial(self._told_time, words or ""))
        return await self._set(words or "", read)

    async def _told_words(self, when: str | None, words: str) -> Reply | None:
        if says_unknown(words):
            return Reply(NOTHING) if says_unknown(words, only=True) else None
        return await self._begin(words, when)

    async def _told_time(self, words: str, when: str) -> Reply | None:
        return await self._begin(words, when) if self._read(when) is not None else None

    async def _set(self, words: str, when: Schedule) -> Reply:
        content = {"words": words.strip(" .,!?"), **self._times(when)}
        entry = await self.entries.add(self.kind, content)
        return Reply(
            f"I'll remind you {self._what(content)}.",
            undo=partial(self.unset, entry.id),
            undo_question=partial(self.shall_unset, entry.id, _set_one),
        )

    def _times(self, when: Schedule) -> Content:
        return scheduled(when, self.entries.clocks.now())

    def _what(self, content: Content) -> str:
        return f"{self.spoken_time(content)} {reminder_of(content['words'])}"


def _set_one(content: Content) -> str:
    return f"set a reminder {reminder_of(content['words'])}"
