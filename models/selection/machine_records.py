"""Stores facts about the machines that share a cache of models, e.g. the speed of a language model.

This module also defines the speed that a conversation requires.
"""

import json
import logging
import statistics
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, PositiveFloat, TypeAdapter, ValidationError

from assistant.paths import replacing
from models.hardware import Hardware

logger = logging.getLogger(__name__)

SPEECH_TOKENS_PER_S = 5.0
"""Minimum writing speed, in tokens per second, that keeps up with speech. At its normal pace, the
Piper voice speaks 4.0 to 4.3 tokens of Qwen2.5 per second."""
FIRST_CLAUSE_S = 4.0
"""Maximum acceptable wait for the first clause, in seconds. The limit is generous on purpose: a
model that answers twice as many questions correctly is worth waiting for."""
READ_TOKENS = 60
"""Typical number of tokens that a turn adds to a prompt whose beginning is cached."""
CLAUSE_TOKENS = 10
"""Number of tokens that must be written before the voice can start."""
CALM_SHARE = 0.8
"""Share of the available processor time that the model must get during a measurement. A measurement
with a smaller share doesn't count. On two cores, the share is 0.94 to 0.98 when nothing else is
running. Next to one or two programs that take all they can get, it is less than 0.5, and the model
writes 2 tokens per second instead of 28."""

KEPT = 3
"""Number of measurements stored per model. All of them are needed to outweigh the estimate, because
a single one may have been disturbed without anybody noticing."""
UNSETTLED = timedelta(hours=1)
"""Time between two measurements while there are fewer than `KEPT`, or while the newest contradicts
the others."""
TOO_SLOW_AGAIN = timedelta(days=1)
"""Time between two measurements of a model that is too slow. It is shorter than `RENEWED`, because
a user who could use this model should not have to use a smaller one for long."""
RENEWED = timedelta(days=7)
"""Time between two measurements of a model that is fast enough."""
OBSOLETE = frozenset({"speeds"})
"""Keys that earlier versions wrote. They are ignored: the speeds were recorded without the
machine's load, so they say nothing about the model."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A language model's speed, in tokens per second.

    Attributes:
        reading: speed of reading a prompt, timed until the first token is written. It is measured
            with the batches and threads that a conversation uses.
        writing: speed of writing an answer.
    """

    reading: PositiveFloat
    writing: PositiveFloat

    @property
    def first_clause_s(self) -> float:
        """Seconds until the first clause of an answer is written."""
        # The first token is part of reading.
        return READ_TOKENS / self.reading + (CLAUSE_TOKENS - 1) / self.writing

    @property
    def keeps_up(self) -> bool:
        """Whether this speed is high enough for a conversation."""
        return self.writing >= SPEECH_TOKENS_PER_S and self.first_clause_s <= FIRST_CLAUSE_S


@dataclass(frozen=True, slots=True)
class Measurement(Speed):
    """A measured speed.

    Args:
        share: processor time that the model's process got, divided by the time that its threads
            could have used.
        at: time of the measurement, in UTC.
    """

    share: float
    at: AwareDatetime

    @property
    def calm(self) -> bool:
        """Whether other programs left the model enough of the processor during the measurement."""
        return self.share >= CALM_SHARE


_STORED = TypeAdapter(Measurement)


def typical(measurements: Sequence[Speed]) -> Speed:
    """Return the median reading speed and the median writing speed."""
    return Speed(
        statistics.median(each.reading for each in measurements),
        statistics.median(each.writing for each in measurements),
    )


@dataclass(frozen=True, slots=True)
class Notes:
    """Facts about each machine, in a JSON file with one object per machine.

    If the file is lost, the processor is probed and the model measured again.
    """

    path: Path

    def of(self, hardware: Hardware) -> dict[str, Any]:
        return self._all().get(hardware.key, {})

    def add(self, hardware: Hardware, **facts: Any) -> None:
        """Record facts about a machine. If the file can't be written, the error is only logged."""
        everything = self._all() | {hardware.key: self.of(hardware) | facts}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path, mode=0o666) as file:
                file.write(json.dumps(everything, indent=2).encode())
        except OSError as error:
            logger.warning("Facts about this machine could not be stored: %s", error)

    def _all(self) -> dict[str, dict[str, Any]]:
        try:
            notes = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(notes, dict):
            return {}
        return {
            key: {name: fact for name, fact in facts.items() if name not in OBSOLETE}
            for key, facts in notes.items()
            if isinstance(facts, dict)
        }

    # -- measured speeds ------------------------------------------------------------------------

    def keep(self, hardware: Hardware, model: str, measurement: Measurement) -> bool:
        """Store a measurement unless the machine was busy; return whether it was stored."""
        if not measurement.calm:
            return False
        kept = [*self.measurements(hardware, model), measurement][-KEPT:]
        stored = [
            {
                "reading": round(each.reading, 1),
                "writing": round(each.writing, 2),
                "share": round(each.share, 2),
                "at": each.at.isoformat(timespec="seconds"),
            }
            for each in kept
        ]
        self.add(hardware, measured=self._measured(hardware) | {model: stored})
        return True

    def measurements(self, hardware: Hardware, model: str) -> list[Measurement]:
        """Return the latest measurements of a model, oldest first.

        Measurements on a busy machine are left out.
        """
        noted = self._measured(hardware).get(model)
        found: list[Measurement] = []
        for each in noted if isinstance(noted, list) else []:
            with suppress(ValidationError):
                found.append(_STORED.validate_python(each))
        return [each for each in found if each.calm]

    def speed(self, hardware: Hardware, models: Sequence[str]) -> Speed | None:
        """Return the median speed of the first of `models` that was measured often enough; None if
        there is no such model.
        """
        for model in models:
            kept = self.measurements(hardware, model)
            if len(kept) >= KEPT:
                return typical(kept)
        return None

    def due(self, hardware: Hardware, model: str, now: datetime) -> bool:
        """Return whether the model should be measured now, for the first time or again.

        Args:
            now: in UTC.
        """
        kept = self.measurements(hardware, model)
        if not kept:
            return True
        keeps_up = typical(kept).keeps_up
        if len(kept) < KEPT or kept[-1].keeps_up != keeps_up:
            again_after = UNSETTLED
        else:
            again_after = RENEWED if keeps_up else TOO_SLOW_AGAIN
        # A negative age means that the clock was set back.
        return not timedelta(0) <= now - kept[-1].at < again_after

    def _measured(self, hardware: Hardware) -> dict[str, Any]:
        measured = self.of(hardware).get("measured")
        return measured if isinstance(measured, dict) else {}


def notes_in(cache: Path) -> Notes:
    return Notes(cache / "machines.json")
