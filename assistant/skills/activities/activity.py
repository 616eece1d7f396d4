"""Something that the user and the assistant work on over several turns: a form or a task."""

from datetime import datetime
from typing import Protocol

from assistant.context import Exchange
from assistant.intents import Command, CommandKind
from assistant.skills.skill import Act, Reply


class Activity(Protocol):
    """Handles all of the user's forms, or all of their tasks. At most one of these is open; "it"
    below is the open one. Use this class only on the event loop.

    The methods that return a Reply may raise StoreError. `status`, `read_back`, `cancel` and
    `finish` are called only while one is open.
    """

    opens: CommandKind
    """The kind of command that opens one."""

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
        none is open. Reads no files. So that the model's cache can be reused, unchanged contents
        give the same text, byte for byte, and text that changes often comes last."""

    async def takes(self, text: str) -> Act | None:
        """If an utterance does nothing but give values, return the act that fills them in and
        replies. Otherwise return None: the language model should answer. Calling `takes` changes
        nothing, because the user may still go on speaking."""

    def answered(self, exchange: str, answer: str) -> None:
        """Note the language model's answer in an exchange, because the user's next words may reply
        to it before `hear` has received the exchange."""

    async def hear(self, exchange: Exchange) -> None:
        """Take in what an exchange says about it. The language model answered the exchange.

        Called in the order of the exchanges. If somebody begins to speak, the call may be cancelled
        and is then repeated with the same exchange, so this method has to be idempotent."""

    async def ask_on(self) -> Reply | None:
        """Return a question to ask once the model has answered something else. If one is open, the
        question asks for the next missing thing. Otherwise, it asks what to do with one that was
        left unfinished. Return None if there is nothing to ask. Changes nothing before the question
        is heard."""

    async def open(self, command: Command) -> Reply | None:
        """Open or resume the one that the command names."""

    async def ask_to_open(self, command: Command) -> Reply | None:
        """Ask whether to open it."""

    async def status(self) -> Reply:
        """Say where it stands, and ask for what is missing."""

    async def read_back(self) -> Reply:
        """Say everything that it contains."""

    async def cancel(self) -> Reply:
        """Throw it away. If that would lose anything, ask first."""

    async def finish(self) -> Reply:
        """Close it, and keep what it contains. If something required is missing, ask first."""
