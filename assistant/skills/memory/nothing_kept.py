"""Replaces the skills that change memories in a session without a long-term memory."""

from assistant.intents import DELETING, Command, CommandKind
from assistant.skills.skill import Reply

NOTHING_KEPT = "I'm not keeping anything in this session, so there's nothing to forget."
CANT_KEEP = "I'm not keeping anything in this session."
KEEPING = frozenset({CommandKind.REMEMBER})
"""Kinds that need a long-term memory, even if there is a transcript. CORRECT and LIFT are left out,
so that the language model answers them."""


class NothingKept:
    """Says that there are no memories to change.

    Args:
        transcript: whether there is a transcript, from which things can be forgotten.
    """

    def __init__(self, *, transcript: bool = False) -> None:
        self.kinds = KEEPING if transcript else KEEPING | DELETING | {CommandKind.UNDO}

    async def carry_out(self, command: Command) -> Reply | None:
        deletes = command.kind in DELETING or command.kind is CommandKind.UNDO
        return Reply(NOTHING_KEPT if deletes else CANT_KEEP)

    async def ask(self, command: Command) -> Reply | None:
        """Ask nothing: there is nothing to do."""
        del command
        return None
