"""What the user and the assistant work on over several turns: a form or a task."""

from datetime import datetime
from typing import Protocol

from assistant.context import Exchange
from assistant.intents import Command, CommandKind
from assistant.skills.skill import Act, Reply


class Activity(Protocol):
    """A form or a task, of which at most one of each sort is open. Use it only on the event loop.

    The methods that return a Reply may raise StoreError, and are called only while it is open.
    """

    opens: CommandKind
    """The kind of commands that open one."""

    async def load(self) -> None:
        """Read what an earlier session left open. May raise StoreError."""

    @property
    def opened(self) -> datetime | None:
        """When it was opened or last resumed; None if none is open."""

    @property
    def name(self) -> str:
        """What it is called in a sentence ("the intake form"); empty if none is open."""

    @property
    def heard(self) -> str:
        """The id of the exchange that it heard last, or empty."""

    def block(self) -> str:
        """Return what the model is told of it: a line or a few, without brackets; empty if none is
        open. Reads no files. What has not changed keeps its bytes, and comes before what changes
        often."""

    async def takes(self, text: str) -> Act | None:
        """Return what takes in an utterance that does nothing but fill something in, and replies.
        Changes nothing itself: the user may still go on speaking. None if the language model should
        answer."""

    def answered(self, exchange: str, answer: str) -> None:
        """Note what the language model has answered in an exchange, before it is heard: what the
        user says next may reply to that."""

    async def hear(self, exchange: Exchange) -> None:
        """Take in what an exchange that the language model answered says about it.

        Called in the order of the exchanges, while nobody speaks. Cancelled when somebody speaks;
        then called again with the same exchange. So it has to be idempotent."""

    async def ask_on(self) -> Reply | None:
        """Return a question to ask once the model has answered something else: for what is missing
        next or, if none is open, about one that was left unfinished. None if there is nothing to
        ask. Changes nothing before the question is heard."""

    async def open(self, command: Command) -> Reply | None:
        """Open the one that the command names, or resume it."""

    async def ask_to_open(self, command: Command) -> Reply | None:
        """Ask whether to open it."""

    async def status(self) -> Reply:
        """Say where it stands, and ask for what is missing."""

    async def read_back(self) -> Reply:
        """Say all that it contains."""

    async def cancel(self) -> Reply:
        """Throw it away. If that would lose anything, ask first."""

    async def finish(self) -> Reply:
        """Close it, and keep what it contains. If something required is missing, ask first."""
