"""Determines from events whether it is quiet, i.e. nobody speaks or types and no answer is in
progress."""

import asyncio
import time
from collections.abc import Callable

from assistant.events import (
    Event,
    Phase,
    PhaseChanged,
    SpeechIgnored,
    TurnHeard,
    TurnStarted,
    UserSensed,
)

QUIET = frozenset({Phase.LISTENING, Phase.ASLEEP, Phase.MUTED, Phase.PAUSED})
UNCONFIRMED_SPEECH_S = 5.0
"""Seconds to wait after a sound that may be a voice. If no voice is confirmed in that time, the
sound was e.g. a door or a key press, and the room counts as quiet again."""
LONGEST_S = 600.0
"""Seconds after which a voice counts as ended even if no event reported its end. This is twice the
longest turn."""
NEVER = float("-inf")


class ActivityMonitor:
    """Tracks whether it is quiet. Use it on the event loop, with `watch` subscribed to the event
    bus.

    Args:
        phase: the current phase; `LISTENING` in a process without a conversation.
        clock: monotonic seconds, on the same clock as the event loop.
    """

    def __init__(
        self, phase: Phase = Phase.STARTING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._phase = phase
        self._since = clock()
        self._unconfirmed = NEVER
        """Time of the last sound that may be a voice but was not confirmed."""
        self._voice = False
        self._changed = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []

    def on_sign(self, act: Callable[[], None]) -> None:
        """Register the function `act`. It is called on each sign of a person, at the end of each
        utterance and on each change of phase, while the event is being handled. It must be quick
        and must not raise."""
        self._listeners.append(act)

    def watch(self, event: Event) -> None:
        match event:
            case PhaseChanged(phase):
                self._phase = phase
                self._restart()
            case UserSensed(sure=False):
                self._unconfirmed = self.clock()
                self._notify()
            case UserSensed() | TurnStarted():
                self._voice = True
                self._unconfirmed = NEVER
                self._restart()
            case TurnHeard() | SpeechIgnored():  # either event ends an utterance
                self._voice = False
                self._restart()

    @property
    def now(self) -> bool:
        """Whether it is quiet at this moment."""
        return (left := self._left(0.0)) is not None and left <= 0

    async def lasting(self, seconds: float, after: Callable[[], float] = lambda: NEVER) -> None:
        """Wait until it has been quiet for `seconds`.

        Args:
            after: returns a time on the clock. Quiet before that time does not count. The function
                is called again after each event.
        """
        while (left := self._left(seconds, after())) is None or left > 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def look_again(self) -> None:
        """Make `lasting` recalculate its waiting time, because the result of its `after` has
        changed."""
        self._changed.set()

    def _left(self, seconds: float, after: float = NEVER) -> float | None:
        """Return the seconds until it has been quiet long enough, or None if the phase must change
        first."""
        if self._phase not in QUIET:
            return None
        since = self._since + (LONGEST_S if self._voice else 0.0)
        until = max(since + seconds, after + seconds, self._unconfirmed + UNCONFIRMED_SPEECH_S)
        return until - self.clock()

    def _restart(self) -> None:
        self._since = self.clock()
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        for act in tuple(self._listeners):
            act()
