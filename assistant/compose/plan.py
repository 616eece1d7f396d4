"""Describes a session's audio input and output. This module imports no other module of the project,
because a screen needs it before drawing its first frame."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """The audio input and output of a session. The defaults are the machine's own devices."""

    recordings: tuple[Path, ...] = ()
    """Audio files to play to the assistant in place of a microphone."""
    output: Path | None = None
    """Audio file to which the assistant's speech is written, in place of a loudspeaker."""
    typed: bool = False
    """Whether the user types, so that no microphone is opened."""
    speak: bool = True
    """Whether answers are spoken. If False, they are only shown as text."""
    record: Path | None = None
    """File for a recording of the conversation. If its name is empty, a file in the home is
    chosen."""

    @property
    def speaks(self) -> bool:
        """Whether speech is produced, for a loudspeaker or for the file `output`."""
        return self.speak or self.output is not None
