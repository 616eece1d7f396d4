"""An attempt: one try at answering, made before it is certain that the user has finished.

Work runs ahead of the turn detector. At the first hint of silence the words are transcribed, an
answer is written and its first clause synthesized into memory. Only once the turn detector decides
is the attempt *confirmed*: it may be heard, shown and remembered. If the user goes on speaking, it
is *withdrawn* and must leave no trace.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.events import Latency, MemoryUsed

LEAST_MEASURED = 16
"""Tokens; counts below this, read or written, say nothing about the model's speed."""


@dataclass(slots=True)
class TurnTimes:
    """When each step of a turn happened, on the clock of `time.monotonic`, in seconds."""

    speech_ended: float
    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None
    answer_ended: float | None = None
    interrupted: float | None = None

    def stamp(self, name: str) -> None:
        """Record that step `name` happened now, unless it already has."""
        if getattr(self, name) is None:
            setattr(self, name, time.monotonic())

    def latency(self) -> Latency:
        def since(moment: float | None) -> float | None:
            return None if moment is None else round((moment - self.speech_ended) * 1000, 1)

        return Latency(
            turn_decided=since(self.turn_decided),
            transcript=since(self.transcript),
            recall=since(self.recall),
            first_token=since(self.first_token),
            first_audio=since(self.first_audio),
        )


@dataclass(eq=False)
class Attempt:
    """The user's words as heard so far, and the answer to them.

    A `remark` is something the assistant says on its own account ("Good night."): it is spoken like
    an answer, but belongs to no turn and enters no history.
    """

    text: str
    marks: TurnTimes
    turn: int = 0
    started: datetime | None = None
    """UTC; when the user began to speak; set when the attempt is confirmed."""
    typed: bool = False
    remark: bool = False
    own_voice: float = 0.0
    """How much of the sound came from the loudspeaker, in [0, 1]."""
    memories: tuple[MemoryUsed, ...] = ()
    answer: str = ""
    """The answer as written so far; runs ahead of what has been heard."""
    heard: str = ""
    """The part of `answer` that has reached the loudspeaker."""
    context_tokens: int = 0
    read_tokens: int = 0
    tokens_per_s: float | None = None
    confirmed: bool = False
    withdrawn: bool = False
    passed: bool = False
    """Handed on to be answered: withdrawing it must interrupt that work."""
    closed: bool = False
    """Its turn is over: whatever is still in the pipeline must not be heard."""
    _decision: asyncio.Event = field(default_factory=asyncio.Event)
    _held: list[Callable[[], None]] = field(default_factory=list)

    def confirm(self) -> None:
        """The turn is over and these are its words: run everything held back until now."""
        if self.withdrawn or self.confirmed:
            return
        self.confirmed = True
        held, self._held = self._held, []
        for act in held:
            act()
        self._decision.set()

    def withdraw(self) -> None:
        """The user went on speaking: drop everything that was held back."""
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
        """Call `act` once the attempt is confirmed, in the order given; never if withdrawn."""
        if self.confirmed:
            act()
        elif not self.withdrawn:
            self._held.append(act)

    @classmethod
    def of_remark(cls, text: str) -> "Attempt":
        """Something the assistant says on its own account; confirmed from the start."""
        attempt = cls(
            text="", marks=TurnTimes(speech_ended=time.monotonic()), remark=True, answer=text
        )
        attempt.confirm()
        return attempt
