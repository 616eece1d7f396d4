"""What is known about the machines that share a cache of models."""

import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from assistant.paths import replacing
from models.hardware import Hardware
from models.selection.speed import Measurement, Speed, typical

logger = logging.getLogger(__name__)

KEPT = 3
"""Measurements kept per model. All of them are needed to outweigh the estimate, as any one may have
been made under conditions that nobody noticed."""
UNSETTLED = timedelta(hours=1)
"""Time between measurements while some are missing, or the newest contradicts the others."""
TOO_SLOW_AGAIN = timedelta(days=1)
RENEWED = timedelta(days=7)
"""Time between measurements of a fast enough model. One found too slow is measured again sooner,
because an unnecessarily small model costs the user more."""
OBSOLETE = frozenset({"speeds"})
"""Keys of earlier versions. These speeds were recorded without the machine's load, so they say
nothing about the model."""


@dataclass(frozen=True, slots=True)
class Notes:
    """A JSON file with one object per machine. If it is lost, the processor is probed and the model
    measured again."""

    path: Path

    def of(self, hardware: Hardware) -> dict[str, Any]:
        notes = self._all().get(hardware.key)
        return notes if isinstance(notes, dict) else {}

    def add(self, hardware: Hardware, **facts: Any) -> None:
        """Record facts about a machine. If the file can't be written, this is only logged."""
        everything = self._all() | {hardware.key: self.of(hardware) | facts}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path, mode=0o666) as file:
                file.write(json.dumps(everything, indent=2).encode())
        except OSError as error:
            logger.warning("Facts about this machine could not be stored: %s", error)

    def _all(self) -> dict[str, Any]:
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
        """Keep a measurement, unless the machine was busy; returns whether it was kept."""
        if not measurement.calm:
            return False
        kept = [*self.measurements(hardware, model), measurement][-KEPT:]
        measured = self._measured(hardware) | {model: [each.as_json() for each in kept]}
        self.add(hardware, measured=measured)
        return True

    def measurements(self, hardware: Hardware, model: str) -> list[Measurement]:
        """The latest measurements on a calm machine, oldest first."""
        noted = self._measured(hardware).get(model)
        read = [Measurement.from_json(each) for each in noted] if isinstance(noted, list) else []
        return [each for each in read if each is not None and each.calm]

    def speed(self, hardware: Hardware, models: tuple[str, ...]) -> Speed | None:
        """The typical speed of the first of these models that was measured often enough."""
        for model in models:
            kept = self.measurements(hardware, model)
            if len(kept) >= KEPT:
                return typical(kept)
        return None

    def due(self, hardware: Hardware, model: str, now: datetime) -> bool:
        """Whether the model should be measured (again); `now` in UTC."""
        kept = self.measurements(hardware, model)
        if not kept:
            return True
        age = now - kept[-1].at
        # A negative age means that the clock was set back.
        return not timedelta(0) <= age < _renewed_after(kept)

    def _measured(self, hardware: Hardware) -> dict[str, Any]:
        measured = self.of(hardware).get("measured")
        return measured if isinstance(measured, dict) else {}


def _renewed_after(kept: list[Measurement]) -> timedelta:
    keeps_up = typical(kept).keeps_up
    if len(kept) < KEPT or kept[-1].speed.keeps_up != keeps_up:
        return UNSETTLED
    return RENEWED if keeps_up else TOO_SLOW_AGAIN


def notes_in(cache: Path) -> Notes:
    return Notes(cache / "machines.json")
