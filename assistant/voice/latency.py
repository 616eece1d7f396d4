"""Measures when each step of a turn happened, on one clock, and writes it to the ledger.

The ledger is a JSON-lines file in the home folder, which lets a slow day be investigated later. It
contains no words of the conversation.
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
    """When each step of a turn happened, on the clock of `time.monotonic`, in seconds."""

    speech_ended: float = field(default_factory=time.monotonic)
    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None

    def stamp(self, name: str) -> None:
        """Record that step `name` happened now, unless it is already recorded."""
        if getattr(self, name) is None:
            setattr(self, name, time.monotonic())

    def latency(self) -> Latency:
        """Milliseconds from the end of the speech to each step."""
        steps = asdict(self)
        ended = steps.pop("speech_ended")
        return Latency(
            **{
                step: None if moment is None else round((moment - ended) * 1000, 1)
                for step, moment in steps.items()
            }
        )


class LatencyLog:
    """Appends one line per turn. Blocking but short; call it off the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, turn: TurnEnded) -> None:
        """Append a turn's figures.

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
