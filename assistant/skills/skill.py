"""The protocol of skills, and their replies."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from assistant.events import Notice
from assistant.intents import Command, CommandKind

UNDO_IT = "Shall I undo that?"
BRING_BACK = "Shall I bring that back?"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things that a question names. `act` is called when the user chooses it.

    `name` is how the question names it. It is empty for the choice of all things together.
    """

    name: str
    act: "Callable[[], Awaitable[Reply]]"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the assistant says about a command.

    If `if_yes` is set, `text` is a question. When the user answers yes, `if_yes` is called, and its
    reply is said. When the user answers no, `if_no` is said. If `then_no` is set, it is called
    instead, and its reply is said. Any other turn drops the question.

    With `choices` instead, the question names several things, and the user chooses one of them, or
    says no.

    If `if_said` is set, `text` asks for words ("What should I remember?"). `if_said` is called with
    the next utterance, unless that is a command, a question, thanks or the like, a yes, a no or a
    choice. If `if_said` returns None, the words were not an answer, and the turn is an ordinary
    one.

    `deletes` is set if the question asks whether or what to forget: it is the number of things that
    are forgotten if the user agrees. "Delete it" then also means yes. `undo` takes back what the
    command has done. If other turns have begun since, the user must confirm first. `undo_question`
    then returns the question, which says what would be taken back, or an empty string if that is no
    longer possible. `offers_undo` is set if `text` tells the user to say "undo". `undo_deletes` is
    set if `undo` deletes something for good.

    `notice` is shown on the screen and not spoken. `lasts` is set if `text` quotes nothing that is
    being forgotten, so that it may be repeated after the purge. `when_heard` is called once the
    first words of `text` have been heard. Changes that must not be made earlier belong there,
    because a `Remark` may be made again or never be heard if the user speaks.
    """

    text: str
    if_yes: "Callable[[], Awaitable[Reply]] | None" = None
    if_no: str = "All right."
    then_no: "Callable[[], Awaitable[Reply]] | None" = None
    choices: tuple[Choice, ...] = ()
    if_said: "Callable[[str], Awaitable[Reply | None]] | None" = None
    deletes: int = 0
    undo: "Callable[[], Awaitable[Reply]] | None" = None
    undo_question: "Callable[[], Awaitable[str]] | None" = None
    offers_undo: bool = False
    undo_deletes: bool = False
    notice: Notice | None = None
    lasts: bool = False
    when_heard: "Callable[[], Coroutine[Any, Any, None]] | None" = None

    @property
    def asks(self) -> bool:
        """Whether the reply is a question that waits for an answer."""
        return self.if_yes is not None or self.if_said is not None or bool(self.choices)


Act = Callable[[], Awaitable[Reply]]
"""Does something, and returns what to say about it."""


async def said(reply: Reply) -> Reply:
    """Return `reply`. Used in place of a function that makes a reply, if the reply is already
    known."""
    return reply


def last_done(what: str, offer: str) -> str:
    """Return a question that offers to take back what was done some turns ago.

    >>> last_done("forget this: your dog is called Max", BRING_BACK)
    'The last thing I did was forget this: your dog is called Max. Shall I bring that back?'
    """
    return f"The last thing I did was {what}{'' if what.endswith('…') else '.'} {offer}"


Remark = Callable[[], Awaitable[Reply | None]]
"""Makes a remark that no command asked for. Returns None if there is no longer anything to say. It
is called again if the user speaks before the remark can be said. So changes that must wait until
the remark is heard belong in `Reply.when_heard`."""


class Skill(Protocol):
    """Carries out commands of some kinds. Use it only on the event loop.

    Both methods may raise StoreError. Its sentence is then spoken, and its advice shown.
    """

    kinds: frozenset[CommandKind]

    async def carry_out(self, command: Command) -> Reply | None:
        """Carry out a command that the user certainly meant, and reply. The reply may be a question
        if the command would change a lot. Return None if the language model should answer the turn
        instead."""

    async def ask(self, command: Command) -> Reply | None:
        """Return a question that says what the command would do, and asks whether the user means
        it. Its `if_yes` carries the command out. Return None if there is nothing to ask about; the
        turn is then an ordinary one."""


@runtime_checkable
class TakesTurns(Protocol):
    """A skill that may also answer utterances that are not commands."""

    @property
    def listens(self) -> bool:
        """Whether something is open, such as a form, so that the user's statements are probably
        about it."""

    async def takes(self, text: str) -> Act | None:
        """Return the act that answers an utterance in place of the language model; None if the
        model should answer. Calling `takes` changes nothing, because the user may still go on
        speaking. Must be as quick as the recogniser of commands."""
