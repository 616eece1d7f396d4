"""Where a session's sound comes from and goes to. Imports nothing, since a screen needs it before
its first frame."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """Where the assistant listens and speaks; default: the machine's own devices."""

    recordings: tuple[Path, ...] = ()
    """Played to the assistant in place of a microphone."""
    output: Path | None = None
    """File that records what the assistant says, in place of a loudspeaker."""
    typed: bool = False
    """Turns are typed; there is no microphone."""
    speak: bool = True
    """If False, answers are only written."""
    record: Path | None = None
    """File for a recording of the conversation; if its name is empty, a file in the home."""

    @property
    def speaks(self) -> bool:
        return self.speak or self.output is not None
