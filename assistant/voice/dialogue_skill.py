"""The skill that controls the dialogue itself: speaking, listening, and whether it is stored."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from assistant.events import Notice
from assistant.intents import Command, CommandKind
from assistant.skills import NOTHING_SAID, Reply
from assistant.voice.dialogue import Dialogue

OFF = "Off the record. I won't keep anything until you say: back on the record."
ON = "Back on the record. I haven't kept anything that was said in between."
ALREADY_ON = "We're already on the record."
SHALL_REPEAT = "Do you want me to say that again?"
SHALL_SLEEP = "Shall I stop listening?"
SHALL_GO_OFF = "Shall I go off the record?"
SHALL_GO_ON = "Shall I go back on the record?"


LISTENING_AGAIN = "I'm listening again."


class DialogueSkill:
    """Stops, repeats, sleeps, wakes, and goes off and on the record."""

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

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._alarm: asyncio.TimerHandle | None = None
        """Ends a sleep of a certain length."""
        self._acts: Mapping[CommandKind, Callable[[], Awaitable[Reply]]] = {
            CommandKind.STOP: self._stop,
            CommandKind.REPEAT: self._repeat,
            CommandKind.SLEEP: self._sleep,
            CommandKind.WAKE: self._wake,
            CommandKind.OFF_RECORD: self._go_off,
            CommandKind.ON_RECORD: self._go_on,
        }

    def close(self) -> None:
        """Let a sleep of a certain length not end by itself. Called at the end of the session."""
        if self._alarm is not None:
            self._alarm.cancel()

    async def carry_out(self, command: Command) -> Reply | None:
        return await self._act(command)()

    def _act(self, command: Command) -> Callable[[], Awaitable[Reply]]:
        if command.kind is CommandKind.SLEEP and command.minutes is not None:
            return partial(self._sleep_for, command.minutes)
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
            text = f"Shall I stop listening for {_spoken(command.minutes)}?"
        return Reply(text, if_yes=self._act(command)) if possible else None

    async def _stop(self) -> Reply:
        return Reply("")

    async def _repeat(self) -> Reply:
        return Reply(self._dialogue.last_said.text or NOTHING_SAID)

    async def _sleep(self) -> Reply:
        self._dialogue.sleep()
        return Reply(f"Good night. Say {self._dialogue.attention.wake_phrase} to wake me.")

    async def _sleep_for(self, minutes: int) -> Reply:
        self._dialogue.sleep()
        attention = self._dialogue.attention
        self.close()
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(60 * minutes, self._wake_from, attention.sleeps)
        return Reply(
            f"Okay, I'll listen again in {_spoken(minutes)}. "
            f"Say {attention.wake_phrase} to wake me earlier."
        )

    def _wake_from(self, sleep: int) -> None:
        """End a sleep, unless it has ended. It is shown and not said aloud, since silence may be
        what the user wanted."""
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


def _spoken(minutes: int) -> str:
    """Return a duration in words, e.g. "an hour and 5 minutes".

    >>> _spoken(1), _spoken(10), _spoken(90), _spoken(120)
    ('a minute', '10 minutes', 'an hour and 30 minutes', '2 hours')
    """
    hours, rest = divmod(minutes, 60)
    parts = ["an hour" if hours == 1 else f"{hours} hours"] if hours else []
    parts += ["a minute" if rest == 1 else f"{rest} minutes"] if rest else []
    return " and ".join(parts)
