"""Speculative answers, which are begun before it is certain that the user has finished.

After the first moment of silence, the user's words are transcribed, an answer is written, and its
first clause is synthesized. When the turn is over, the answer is *confirmed*: from then on, it may
be heard, shown and stored. If the user goes on speaking, the answer is *withdrawn*, and no trace of
it must remain.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.context import NotKnown
from assistant.events import MemoryUsed
from assistant.voice.latency import TurnTimes
from models.interfaces import ClassifiedText


@dataclass(eq=False)
class SpeculativeAnswer:
    """The user's words so far, and the answer to them.

    A `remark` is a sentence that doesn't come from the language model, e.g. "Good night." It is
    spoken like an answer, but belongs to no turn and is not added to the history.
    """

    user_text: str
    times: TurnTimes = field(default_factory=TurnTimes)
    turn: int = 0
    started: datetime | None = None
    """The time at which the user began to speak, in UTC. It is set when the answer is confirmed."""
    typed: bool = False
    interrupts: bool = False
    """Whether the user's words have stopped the assistant's voice, or an answer in progress."""
    remark: bool = False
    rings: bool = False
    """Whether a bell sounds before the words."""
    over_user: bool = False
    """Whether the answer is said although the user is speaking. An utterance that began before the
    answer doesn't stop it."""
    own_voice: float = 0.0
    """Estimate of how much of the utterance's sound came from the loudspeaker, in [0, 1]."""
    classified: ClassifiedText | None = None
    """The classifier's result for the user's words; None if it wasn't asked or didn't answer."""
    not_known: NotKnown | None = None
    """Set if the words ask for something that the assistant can't know by itself."""
    memories: tuple[MemoryUsed, ...] = ()
    near_misses: tuple[tuple[str, float, str], ...] = ()
    """As in `TurnEnded`."""
    hides: int = 0
    """The value of `LastSaid.hides` when the prompt was built."""
    text: str = ""
    """The text of the answer that has been written so far."""
    heard: str = ""
    """The part of `text` that the loudspeaker has played."""
    when_heard: Callable[[], object] | None = None
    """Called once, when the first words have been played."""
    context_tokens: int = 0
    read_tokens: int = 0
    tokens_per_s: float | None = None
    confirmed: bool = False
    withdrawn: bool = False
    ready: bool = False
    """Whether nothing but the confirmation is needed to play the answer's first sound, or to carry
    out the command."""
    when_ready: Callable[[], object] | None = None
    """Called once, when the answer is ready."""
    passed: bool = False
    """Whether the language model was asked for the answer. If so, withdrawing the answer must
    interrupt the model."""
    closed: bool = False
    """Whether the answer was cut off. If so, its audio that is still in the pipeline must not be
    played."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the answer was played to the end or cut off."""
    _decision: asyncio.Event = field(default_factory=asyncio.Event)
    _held: list[Callable[[], None]] = field(default_factory=list)

    def confirm(self) -> None:
        """Confirm the answer, and run all actions that waited for this. Called when the turn is
        over and its words are known."""
        if self.withdrawn or self.confirmed:
            return
        self.confirmed = True
        held, self._held = self._held, []
        for act in held:
            act()
        self._decision.set()

    def withdraw(self) -> None:
        """Withdraw the answer, and drop all actions that waited for its confirmation. Called when
        the user goes on speaking."""
        if self.confirmed:
            return
        self.withdrawn = True
        self._held.clear()
        self._decision.set()

    def close(self) -> None:
        """Note that the answer was cut off."""
        self.closed = True
        self.ended.set()

    async def may_be_heard(self) -> bool:
        """Wait until the answer is confirmed or withdrawn. Return whether it was confirmed."""
        self.ready = True
        if self.when_ready is not None:
            act, self.when_ready = self.when_ready, None
            act()
        await self._decision.wait()
        return self.confirmed

    def when_confirmed(self, act: Callable[[], None]) -> None:
        """Call `act` when the answer is confirmed, or now if it already is. Actions run in the
        order in which they were added. If the answer is withdrawn, they are never called."""
        if self.confirmed:
            act()
        elif not self.withdrawn:
            self._held.append(act)

    def note_heard(self, text: str) -> None:
        """Note that this much of the answer was played."""
        self.heard = text
        if text and self.when_heard is not None:
            act, self.when_heard = self.when_heard, None
            act()
