"""The skill that controls the dialogue itself: speaking, listening, and whether it is stored."""

from collections.abc import Awaitable, Callable, Mapping

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
        self._acts: Mapping[CommandKind, Callable[[], Awaitable[Reply]]] = {
            CommandKind.STOP: self._stop,
            CommandKind.REPEAT: self._repeat,
            CommandKind.SLEEP: self._sleep,
            CommandKind.WAKE: self._wake,
            CommandKind.OFF_RECORD: self._go_off,
            CommandKind.ON_RECORD: self._go_on,
        }

    async def carry_out(self, command: Command) -> Reply | None:
        return await self._acts[command.kind]()

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
        return Reply(text, if_yes=self._acts[command.kind]) if possible else None

    async def _stop(self) -> Reply:
        return Reply("")

    async def _repeat(self) -> Reply:
        return Reply(self._dialogue.last_said.text or NOTHING_SAID)

    async def _sleep(self) -> Reply:
        self._dialogue.sleep()
        return Reply(f"Good night. Say {self._dialogue.attention.wake_phrase} to wake me.")

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
