"""How fast a language model has to be for a conversation, and how fast it was when measured."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

SPEECH_TOKENS_PER_S = 5.0
"""Writing at this rate keeps up with speaking: at its normal pace, the Piper voice speaks 4.0 to
4.3 tokens of Qwen2.5 per second."""
FIRST_CLAUSE_S = 4.0
"""Longest acceptable wait for the first clause, in seconds. Generous on purpose: a model that
answers twice as many questions correctly is worth waiting for."""
READ_TOKENS = 60
"""Tokens that a turn typically adds to a prompt whose beginning is cached."""
CLAUSE_TOKENS = 10
"""Tokens written before the voice can start."""
CALM_SHARE = 0.8
"""A measurement counts if the model got at least this share of the processor time it could use. On
two cores it gets 0.94 to 0.98 when nothing else is running, and less than 0.5 next to one or two
programs that take all they can get; there it writes 2 tokens per second instead of 28."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second. `reading` covers the time up to the first token written, with the batches
    and threads that a conversation uses."""

    reading: float
    writing: float

    @property
    def first_clause_s(self) -> float:
        """Seconds until the first clause of an answer is written."""
        # The first token is part of reading.
        return READ_TOKENS / self.reading + (CLAUSE_TOKENS - 1) / self.writing

    @property
    def keeps_up(self) -> bool:
        """Whether this is fast enough for a conversation."""
        return self.writing >= SPEECH_TOKENS_PER_S and self.first_clause_s <= FIRST_CLAUSE_S


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured speed.

    Args:
        share: processor time that the model's process got, relative to what its threads could use.
        at: when it was made, in UTC.
    """

    speed: Speed
    share: float
    at: datetime

    @property
    def calm(self) -> bool:
        """Whether nothing else wanted the processor at the same time."""
        return self.share >= CALM_SHARE

    def as_json(self) -> dict[str, Any]:
        return {
            "reading": round(self.speed.reading, 1),
            "writing": round(self.speed.writing, 2),
            "share": round(self.share, 2),
            "at": self.at.isoformat(timespec="seconds"),
        }

    @classmethod
    def from_json(cls, values: Any) -> Self | None:
        """None if `values` was not made by `as_json`."""
        try:
            speed = Speed(float(values["reading"]), float(values["writing"]))
            made = cls(speed, float(values["share"]), datetime.fromisoformat(values["at"]))
        except (KeyError, TypeError, ValueError):
            return None
        sound = speed.reading > 0 and speed.writing > 0 and made.at.tzinfo is not None
        return made if sound else None


def typical(measurements: Sequence[Measurement]) -> Speed:
    """The median of each figure."""
    return Speed(
        statistics.median(each.speed.reading for each in measurements),
        statistics.median(each.speed.writing for each in measurements),
    )
