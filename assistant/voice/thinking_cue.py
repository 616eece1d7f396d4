"""A soft sound while the user waits for an answer that isn't ready when the turn ends."""

import asyncio
from collections.abc import Callable

from assistant.voice.speculation import SpeculativeAnswer

REPEAT_S = 2.0
"""Seconds after which the sound is repeated, so that the assistant never seems to have died."""


class ThinkingCue:
    """Plays the sound.

    Args:
        play: plays it once, without waiting for its end.
    """

    def __init__(self, play: Callable[[], None]) -> None:
        self._play = play

    def start(self, answer: SpeculativeAnswer) -> None:
        """Play the sound now and every few seconds until the answer is ready or has ended. An
        answer that is ready is its own sign that the user was heard."""
        if not (answer.ready or answer.ended.is_set()):
            self._play()
            asyncio.get_running_loop().call_later(REPEAT_S, self.start, answer)
