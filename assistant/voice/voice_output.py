"""The functions of the assistant's voice that the dialogue controls."""

from typing import Protocol


class Voice(Protocol):
    """Controls the playback of the assistant's voice."""

    def set_gain(self, gain: float) -> None: ...

    def chime(self) -> None:
        """Play a soft sound to tell the user that the assistant is thinking."""

    def hush(self) -> None:
        """Stop playback at once. Queued audio is dropped and counts as not heard."""
