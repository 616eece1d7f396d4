"""Speculative answers, begun before it is certain that the user has finished.

At the first hint of silence the words are transcribed, an answer is written, and its first clause
is synthesized. Only when the turn is over is the answer *confirmed*: it may be heard, shown and
remembered. If the user goes on speaking, it is *withdrawn* and must leave no trace.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.events import MemoryUsed
from assistant.voice.latency import TurnTimes


@dataclass(eq=False)
class SpeculativeAnswer:
    """The user's words as heard so far, and the answer to them.

    A `remark` is something that the assistant says on its own account ("Good night."): it is spoken
    like an answer, but belongs to no turn and enters no history.
    """

    user_text: str
    times: TurnTimes = field(default_factory=TurnTimes)
    turn: int = 0
    started: datetime | None = None
    """When the user began to speak (UTC); set when the answer is confirmed."""
    typed: bool = False
    remark: bool = False
    own_voice: float = 0.0
    """How much of the user's sound came from the loudspeaker, in [0, 1]."""
    memories: tuple[MemoryUsed, ...] = ()
    text: str = ""
    """The answer as written so far; runs ahead of what has been heard."""
    heard: str = ""
    """The part of `text` that has reached the loudspeaker."""
    context_tokens: int = 0
    read_tokens: int = 0
    tokens_per_s: float | None = None
    confirmed: bool = False
    withdrawn: bool = False
    passed: bool = False
    """Passed on to the language model: withdrawing the answer must interrupt its work."""
    closed: bool = False
    """The turn is over: whatever of the answer is still in the pipeline must not be heard."""
    _decision: asyncio.Event = field(default_factory=asyncio.Event)
    _held: list[Callable[[], None]] = field(default_factory=list)

    def confirm(self) -> None:
        """The turn is over and its words are known: run all actions held back until now."""
        if self.withdrawn or self.confirmed:
            return
        self.confirmed = True
        held, self._held = self._held, []
        for act in held:
            act()
        self._decision.set()

    def withdraw(self) -> None:
        """The user went on speaking: drop all actions that were held back."""
        if self.confirmed:
            return
        self.withdrawn = True
        self._held.clear()
        self._decision.set()

    async def may_be_heard(self) -> bool:
        """Wait for the decision; True if confirmed."""
        await self._decision.wait()
        return self.confirmed

    def when_confirmed(self, act: Callable[[], None]) -> None:
        """Call `act` once the answer is confirmed, in call order; never if it is withdrawn."""
        if self.confirmed:
            act()
        elif not self.withdrawn:
            self._held.append(act)
