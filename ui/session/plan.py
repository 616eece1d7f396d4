"""Where a session of the screen listens and speaks."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """Where the assistant listens and speaks; default: the machine's own devices."""

    recordings: tuple[Path, ...] = ()
    output: Path | None = None
    typed: bool = False
    speak: bool = True
    record: Path | None = None
    """Where to record the conversation; an empty name: in the home."""
