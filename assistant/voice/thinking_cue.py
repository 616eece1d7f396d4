"""A soft sound while the user waits for an answer that isn't ready when the turn ends."""

import asyncio
from typing import Protocol

from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.voice_output import Voice

REPEAT_S = 2.0
"""Seconds after which the sound is repeated, so that the assistant never seems to have died."""


class Floor(Protocol):
    """Who speaks."""

    voice: Voice
    user_speaks: bool


class ThinkingCue:
    """Plays the sound, unless the user speaks."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def start(self, answer: SpeculativeAnswer) -> None:
        """Play the sound now and every few seconds until the answer is ready or has ended. A
        ready answer shows by itself that the user was heard."""
        if answer.ready or answer.ended.is_set():
            return
        if not self._floor.user_speaks:
            self._floor.voice.chime()
        asyncio.get_running_loop().call_later(REPEAT_S, self.start, answer)
