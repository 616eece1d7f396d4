"""Measures the time of each step of a turn, and writes these times to the ledger.

The ledger is a file with JSON lines in the home folder. It helps to find out later why answers were
slow. It contains no words of the conversation.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assistant.errors import StoreError
from assistant.events import Latency, TurnEnded


@dataclass(slots=True)
class TurnTimes:
    """The `time.monotonic()` at which each step of a turn happened; None if it has not happened."""

    speech_ended: float = field(default_factory=time.monotonic)
    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None

    def stamp(self, name: str) -> None:
        """Set the time of step `name` to now, unless it is already set."""
        if getattr(self, name) is None:
            setattr(self, name, time.monotonic())

    def latency(self) -> Latency:
        """Return the milliseconds from the end of the user's speech to each step."""
        steps = asdict(self)
        ended = steps.pop("speech_ended")
        return Latency(
            **{
                step: None if moment is None else round((moment - ended) * 1000, 1)
                for step, moment in steps.items()
            }
        )


class LatencyLog:
    """Appends one line per turn to the ledger. `write` blocks briefly, so call it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, turn: TurnEnded) -> None:
        """Append a turn's times and token counts.

        Raises:
            StoreError: the file can't be written.
        """
        line = {
            "ended": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "turn": turn.turn,
            "interrupted": turn.interrupted,
            "latency_ms": asdict(turn.latency_ms),
            "memories": len(turn.memories),
            "context_tokens": turn.context_tokens,
            "read_tokens": turn.read_tokens,
            "tokens_per_s": turn.tokens_per_s,
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StoreError(
                f"The file {self._path}, which records the times of the turns, can't be written:"
                f" {error.strerror}."
            ) from error
