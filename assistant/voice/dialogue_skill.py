"""The skill that controls the dialogue itself: speaking, listening, and whether it is stored."""

from collections.abc import Awaitable, Callable

from assistant.intents import Command, CommandKind
from assistant.skills import NOTHING_SAID, Reply
from assistant.voice.dialogue import Dialogue

OFF = "Off the record. I won't keep anything until you say: back on the record."
ON = "Back on the record. I haven't kept anything that was said in between."
ALREADY_ON = "We're already on the record."
SHALL_SLEEP = "Shall I stop listening?"
SHALL_GO_OFF = "Shall I go off the record?"
SHALL_GO_ON = "Shall I keep what you say again?"


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

    async def carry_out(self, command: Command) -> Reply | None:
        match command.kind:
            case CommandKind.STOP:
                return Reply("")
            case CommandKind.REPEAT:
                return Reply(self._dialogue.last_answer or NOTHING_SAID)
            case CommandKind.SLEEP:
                return await self._sleep()
            case CommandKind.WAKE:
                return await self._wake()
            case CommandKind.OFF_RECORD:
                return await self._go_off()
        return await self._go_on()

    async def ask(self, command: Command) -> Reply | None:
        questions: dict[CommandKind, tuple[bool, str, Callable[[], Awaitable[Reply]]]] = {
            CommandKind.SLEEP: (not self._dialogue.asleep, SHALL_SLEEP, self._sleep),
            CommandKind.OFF_RECORD: (not self._dialogue.off_record, SHALL_GO_OFF, self._go_off),
            CommandKind.ON_RECORD: (self._dialogue.off_record, SHALL_GO_ON, self._go_on),
        }
        possible, text, act = questions.get(command.kind, (False, "", self._wake))
        return Reply(text, if_yes=act) if possible else None

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
