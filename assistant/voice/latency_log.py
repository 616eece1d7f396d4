"""The ledger: when each step of every turn happened, on one clock, without any words.

It is a JSON-lines file in the home folder, so that a slow day can be investigated later.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from assistant.errors import StoreError
from assistant.events import TurnEnded


class LatencyLog:
    """Appends one line per turn. Blocking but short; call it off the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, turn: TurnEnded) -> None:
        """Append a turn's figures.

        Raises:
            StoreError: the file can't be written.
        """
        latency = turn.latency_ms
        line = {
            "ended": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "turn": turn.turn,
            "interrupted": turn.interrupted,
            "latency_ms": {
                "turn_decided": latency.turn_decided,
                "transcript": latency.transcript,
                "recall": latency.recall,
                "first_token": latency.first_token,
                "first_audio": latency.first_audio,
            },
            "memories": len(turn.memories),
            "context_tokens": turn.context_tokens,
            "read_tokens": turn.read_tokens,
            "tokens_per_s": turn.tokens_per_s,
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StoreError(f"The ledger can't be written: {error.strerror}.") from error
