"""The skill that sets, lists and cancels alarms."""

from collections.abc import Sequence
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.schedule import schedule
from assistant.language.second_person import spoken_topic
from assistant.skills.due.due_entries import scheduled
from assistant.skills.due.due_times import Content
from assistant.skills.due.due_words import bare_name, for_time, series
from assistant.skills.due.planned import Planned, Wording
from assistant.skills.skill import Reply
from assistant.state import EntryKind

WHAT_TIME = "For what time?"
NONE = "You have no alarms."
NONE_THEN = "You have no alarm for that time."
NO_SUCH = "You have no such alarm."
GONE = "That alarm is gone."
SHALL_LIST = "Do you want to hear which alarms are set?"


class Alarms(Planned):
    """Sets alarms that ring once or repeatedly, lists them, and cancels them. Off the record,
    alarms get no names."""

    kind = EntryKind.ALARM
    sets, lists = CommandKind.ALARM_SET, CommandKind.ALARM_LIST
    cancels = CommandKind.ALARM_CANCEL
    wording = Wording(NONE, NONE_THEN, NO_SUCH, GONE, SHALL_LIST)

    async def set(self, command: Command) -> Reply:
        return await self._set(command.name, command.when or "") or Reply(
            WHAT_TIME, if_said=partial(self._set, command.name)
        )

    def shall_set(self, command: Command) -> str:
        content = self._content(command.when or "")
        return "" if content is None else f"Shall I set an alarm {self._when(content)}?"

    def name(self, content: Content, at: str) -> str:
        when = f"that rings {at}" if "repeat" in content else f"for {for_time(at)}"
        return f"your {_alarm(content)} {when}"

    def choice(self, content: Content, at: str) -> str:
        name = spoken_topic(content.get("name", ""))
        return f"{name}, {at}" if name else for_time(at)

    def told(self, contents: Sequence[Content]) -> str:
        if len(contents) == 1:
            return f"Your {_alarm(contents[0])} is set {self._when(contents[0])}."
        return f"Your alarms: {series([self.choice(c, self.spoken_time(c)) for c in contents])}."

    def named_in(self, command: Command) -> str:
        return "" if command.every else bare_name(command.name or "")

    def words(self, content: Content) -> str:
        return str(content.get("name", ""))

    # -- inside ---------------------------------------------------------------------------------

    def _content(self, when: str) -> Content | None:
        clocks = self.entries.clocks
        read = schedule(when, clocks.local(), alarm=True)
        return {"name": "", **scheduled(read, clocks.now())} if read is not None else None

    async def _set(self, name: str | None, when: str) -> Reply | None:
        content = self._content(when)
        if content is None:
            return None
        called_so = "" if self.off_record() else bare_name(name or "")
        entry = await self.entries.add(self.kind, {**content, "name": called_so})
        at, text = self._when(entry.content), _alarm(entry.content)
        did = f"set an alarm {at}"  # without its name, which may have to be forgotten
        return Reply(
            f"{text[:1].upper()}{text[1:]} set {at}.",
            undo=partial(self.unset, entry.id),
            undo_question=partial(self.shall_unset, entry.id, lambda _: did),
        )

    def _when(self, content: Content) -> str:
        """Return "for nine tomorrow", "to ring in twenty minutes" or "to ring every day at
        seven"."""
        at = self.spoken_time(content)
        rings = "repeat" in content or at.startswith("in ")
        return f"to ring {at}" if rings else f"for {for_time(at)}"


def _alarm(content: Content) -> str:
    return f"{spoken_topic(content.get('name', ''))} alarm".strip()
