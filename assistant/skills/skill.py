"""What a skill is, and what it replies."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from assistant.intents import Command, CommandKind


@dataclass(frozen=True, slots=True)
class Reply:
    """What the assistant says about a command.

    If `if_yes` is set, `text` is a question. When the user answers yes, `if_yes` is called, and its
    reply is said. When the user answers no, `if_no` is said. Any other turn drops the question.

    If `if_said` is set, `text` asks for words ("What should I remember?"). The next utterance is
    passed to `if_said`, unless it is a command, a question, or a yes or no. If `if_said` returns
    None, the words are no answer, and the turn is an ordinary one.

    If `undo` is set, something was done, and `undo` takes it back.
    """

    text: str
    if_yes: "Callable[[], Awaitable[Reply]] | None" = None
    if_no: str = "All right."
    if_said: "Callable[[str], Awaitable[Reply | None]] | None" = None
    undo: "Callable[[], Awaitable[Reply]] | None" = None


class Skill(Protocol):
    """Carries out commands of some kinds. Use it only on the event loop."""

    kinds: frozenset[CommandKind]

    async def carry_out(self, command: Command) -> Reply | None:
        """Carry out a command that the user surely meant, and reply. The reply may be a question,
        if the command concerns much. Return None if the language model should answer the turn
        instead."""

    async def ask(self, command: Command) -> Reply | None:
        """Return a question whether the user means this command, which names what it would do. Its
        `if_yes` carries the command out. Return None if there is nothing to ask about; the turn is
        then an ordinary one."""
