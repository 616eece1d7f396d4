"""What the user and the assistant work on over several turns: a form or a task."""

from datetime import datetime
from typing import Protocol

from assistant.context import Exchange
from assistant.intents import Command, CommandKind
from assistant.skills.skill import Act, Reply


class Activity(Protocol):
    """Handles all forms of the user, or all tasks. At most one is open; "it" below is the open one.
    Use it only on the event loop.

    The methods that return a Reply may raise StoreError. `status`, `read_back`, `cancel` and
    `finish` are called only while one is open.
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
        """The id of the last exchange that `hear` took in; empty if there is none."""

    def block(self) -> str:
        """Return what the model is told about it: one line or a few, without brackets; empty if
        none is open. Reads no files. For the sake of the model's cache, text that has not changed
        stays the same, byte for byte, and comes before text that changes often."""

    async def takes(self, text: str) -> Act | None:
        """If an utterance does nothing but give values, return the act that fills them in and
        replies. Otherwise return None: the language model should answer. Calling `takes` changes
        nothing, because the user may still go on speaking."""

    def answered(self, exchange: str, answer: str) -> None:
        """Note the language model's answer in an exchange, which `hear` may not have received yet:
        the user's next words may reply to it."""

    async def hear(self, exchange: Exchange) -> None:
        """Take in what an exchange says about it. The exchange was answered by the language model.

        Called in the order of the exchanges, while nobody speaks. Cancelled when somebody speaks;
        then called again with the same exchange. So it has to be idempotent."""

    async def ask_on(self) -> Reply | None:
        """Return a question to ask once the model has answered something else. If one is open, the
        question asks for the next missing thing; otherwise, what to do with one that was left
        unfinished. None if there is nothing to ask. Changes nothing before the question is
        heard."""

    async def open(self, command: Command) -> Reply | None:
        """Open or resume the one that the command names."""

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
