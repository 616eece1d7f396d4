"""The skill that controls the dialogue itself: speaking, listening, and whether it is stored."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

from assistant.events import Notice
from assistant.intents import Command, CommandKind
from assistant.language.calendar import WEEKDAYS
from assistant.language.numbers import numbers
from assistant.language.schedule import schedule
from assistant.language.spoken_times import spoken, spoken_duration
from assistant.skills import NOTHING_SAID, Reply
from assistant.voice.dialogue import Dialogue

OFF = "Off the record. I won't keep anything until you say: back on the record."
ON = "Back on the record. I haven't kept anything that was said in between."
ALREADY_ON = "We're already on the record."
SHALL_REPEAT = "Do you want me to say that again?"
SHALL_SLEEP = "Shall I stop listening?"
SHALL_GO_OFF = "Shall I go off the record?"
SHALL_GO_ON = "Shall I go back on the record?"
UNTIL_WHEN = "Until when?"
LISTENING_AGAIN = "I'm listening again."
TIMES = frozenset(
    {*map(str.lower, WEEKDAYS), "tomorrow", "noon", "midnight", "morning", "afternoon", "evening"}
)
ZERO = timedelta()


class DialogueSkill:
    """Stops, repeats, sleeps, wakes, and goes off and on the record.

    Args:
        now: returns the local time.
    """

    kinds = frozenset(
        {
            CommandKind.STOP,
            CommandKind.REPEAT,
            CommandKind.SLEEP,
            CommandKind.WAKE,
            CommandKind.OFF_RECORD,
            CommandKind.ON_RECORD,
        }
    )

    def __init__(
        self,
        dialogue: Dialogue,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._dialogue = dialogue
        self._now = now
        self._alarm: asyncio.TimerHandle | None = None
        """Ends a sleep for which the user named an end."""
        self._acts: Mapping[CommandKind, Callable[[], Awaitable[Reply]]] = {
            CommandKind.STOP: self._stop,
            CommandKind.REPEAT: self._repeat,
            CommandKind.SLEEP: self._sleep,
            CommandKind.WAKE: self._wake,
            CommandKind.OFF_RECORD: self._go_off,
            CommandKind.ON_RECORD: self._go_on,
        }

    def close(self) -> None:
        """Cancel the planned end of a sleep. Also called at the end of the session."""
        if self._alarm is not None:
            self._alarm.cancel()

    async def carry_out(self, command: Command) -> Reply | None:
        return await self._act(command)()

    def _act(self, command: Command) -> Callable[[], Awaitable[Reply]]:
        if command.kind is CommandKind.SLEEP and command.minutes is not None:
            return partial(self._sleep_for, command.minutes)
        if command.kind is CommandKind.SLEEP and command.when:
            return partial(self._sleep_until, command.when)
        return self._acts[command.kind]

    async def ask(self, command: Command) -> Reply | None:
        """Ask whether the command is meant, unless it would change nothing. Don't ask about waking:
        a sleeping assistant is woken by any words that are addressed to it. Don't ask about
        stopping: words that interrupt an answer have stopped it already."""
        asleep, off_record = self._dialogue.asleep, self._dialogue.off_record
        questions: dict[CommandKind, tuple[bool, str]] = {
            CommandKind.REPEAT: (bool(self._dialogue.last_said.text), SHALL_REPEAT),
            CommandKind.SLEEP: (not asleep, SHALL_SLEEP),
            CommandKind.OFF_RECORD: (not off_record, SHALL_GO_OFF),
            CommandKind.ON_RECORD: (off_record, SHALL_GO_ON),
        }
        possible, text = questions.get(command.kind, (False, ""))
        if command.kind is CommandKind.SLEEP and command.minutes is not None:
            text = f"Shall I stop listening for {spoken_duration(60 * command.minutes)}?"
        elif command.kind is CommandKind.SLEEP and (until := self._end(command.when)) is not None:
            text = f"Shall I stop listening until {self._spoken(until).removeprefix('at ')}?"
        return Reply(text, if_yes=self._act(command)) if possible else None

    async def _stop(self) -> Reply:
        return Reply("")

    async def _repeat(self) -> Reply:
        return Reply(self._dialogue.last_said.text or NOTHING_SAID)

    async def _sleep(self) -> Reply:
        self._dialogue.sleep()
        return Reply(f"Good night. Say {self._dialogue.attention.wake_phrase} to wake me.")

    async def _sleep_for(self, minutes: int) -> Reply:
        return self._sleep_s(60 * minutes, f"in {spoken_duration(60 * minutes)}")

    async def _sleep_until(self, words: str) -> Reply:
        """Sleep until the time that the words name. If they seem to name a time that can't be read,
        ask for it. If they name no time, sleep until woken."""
        until = self._end(words)
        if until is not None:
            left = (until - self._now()).total_seconds()
            return self._sleep_s(left, self._spoken(until))
        if _may_be_time(words):
            return Reply(UNTIL_WHEN, if_said=self._told_end)
        return await self._sleep()

    async def _told_end(self, words: str) -> Reply | None:
        words = words.removeprefix("Until ").removeprefix("until ")
        return await self._sleep_until(words) if self._end(words) is not None else None

    def _end(self, words: str | None) -> datetime | None:
        return _until(words, self._now()) if words else None

    def _spoken(self, until: datetime) -> str:
        return spoken(until.replace(tzinfo=None), self._now().replace(tzinfo=None))

    def _sleep_s(self, seconds: float, when: str) -> Reply:
        self._dialogue.sleep()
        attention = self._dialogue.attention
        self.close()
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(seconds, self._wake_from, attention.sleeps)
        return Reply(
            f"Okay, I'll listen again {when}. Say {attention.wake_phrase} to wake me earlier."
        )

    def _wake_from(self, sleep: int) -> None:
        """End a sleep, unless it has ended already. This is shown but not said aloud, since the
        user may have wanted silence."""
        if self._dialogue.asleep and self._dialogue.attention.sleeps == sleep:
            self._dialogue.wake()
            self._dialogue.emit(Notice(LISTENING_AGAIN))

    async def _wake(self) -> Reply:
        self._dialogue.wake()
        return Reply("Yes?")

    async def _go_off(self) -> Reply:
        await self._dialogue.settled()  # the new mode must not affect the previous turn
        self._dialogue.record(off=True)
        return Reply(OFF)

    async def _go_on(self) -> Reply:
        await self._dialogue.settled()
        was_off = self._dialogue.off_record
        self._dialogue.record(off=False)
        return Reply(ON if was_off else ALREADY_ON)


def _until(words: str, now: datetime) -> datetime | None:
    """Return the local time that the words after "until" name, e.g. "three, Ada". Return None if
    they name anything else ("the three of us are back")."""
    said = words.split()
    for end in range(len(said), 0, -1):
        goes_on = len(said) > end + 1 and said[end - 1][-1] not in ".,;!?"
        read = None if goes_on else schedule(" ".join(said[:end]).strip(".,;!?"), now)
        if read is not None and read.repeat is None:
            local = (
                read.local.replace(tzinfo=now.tzinfo) if read.local else now + (read.after or ZERO)
            )
            return local.replace(microsecond=0)
    return None


def _may_be_time(words: str) -> bool:
    """Return whether the words after "until" seem to name a time, not an event ("until I call
    you")."""
    said = set(re.findall(r"[a-z]+|\d+", words.lower()))
    return any(each.isdecimal() for each in said) or not said.isdisjoint(TIMES | numbers().keys())
