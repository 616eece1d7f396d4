"""Brings the models that a session wants and that are not on this machine, before it starts."""

import argparse
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

from assistant.engines import Workshop, chooses_model, open_workshop
from assistant.errors import ModelError, StoreError
from assistant.settings import Settings
from models import profiles
from models.catalogue import Role
from models.machine_notes import notes_in
from models.sources import Report, Step

RATE_S = 8.0
"""The download's pace is that of so many seconds."""
FOR = {
    Role.STT: "hearing",
    Role.LLM: "thinking",
    Role.TTS: "speaking",
    Role.ENCODER: "remembering",
}


def pull_missing(settings: Settings, stream: TextIO) -> None:
    """Download what is missing, with progress on `stream`; quick when nothing is.

    A language model that suits the machine better than the one it has is downloaded too. Without it
    the start goes on, and no download is tried again on that day.

    Raises:
        SettingsError: there is no such profile.
        ModelError: a model could not be brought.
    """
    shop = open_workshop(settings)
    wanted = wanted_models(settings, shop)
    missing = shop.store.missing(wanted)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    refused = shop.notes.of(shop.hardware).get("refused") == today
    absent = shop.choice.absent if chooses_model(settings) and not refused else None
    if not missing and absent is None:
        return
    from ui import models_command  # brings rich, which a start without downloads needn't wait for

    # Of the whole profile, since for `default` what the network can serve decides with.
    names = [] if absent or shop.profile.llm in missing else missing
    order = argparse.Namespace(
        models_action="pull", names=names, profile=settings.general.profile, json=False
    )
    try:
        models_command.run(order, store=shop.store, hardware=shop.hardware, stream=stream)
    except (ModelError, StoreError) as error:
        if absent is None or shop.store.missing(wanted):
            raise
        shop.notes.add(shop.hardware, refused=today)
        print(f"{error} Going on with {shop.profile.llm}.", file=stream)
    rest = shop.store.missing([name for name in wanted if name != shop.profile.llm])
    if rest:
        order.names = rest
        models_command.run(order, store=shop.store, hardware=shop.hardware, stream=stream)


def wanted_models(settings: Settings, shop: Workshop) -> list[str]:
    """Names in the catalogue; the user's own files and servers need no download."""
    served = settings.llm.endpoint is not None or settings.llm.engine == "openai"
    named = (
        settings.stt.model or shop.profile.stt,
        None if served else settings.llm.model or shop.profile.llm,
        settings.tts.model or shop.profile.tts,
        *([settings.memory.encoder] if settings.memory.encoder else shop.profile.encoders),
    )
    return [name for name in named if name is not None and name in shop.store.catalogue.models]


@dataclass(frozen=True, slots=True)
class Needed:
    """A model that has to be downloaded; the role in words that say what it is for."""

    name: str
    role: str
    bytes: int


def needed(settings: Settings) -> list[Needed]:
    """What is missing on this machine. Blocking. Raises SettingsError: there is no such profile."""
    shop = open_workshop(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    models = [shop.store.catalogue.get(name) for name in missing]
    return [Needed(model.name, FOR[model.role], model.bytes) for model in models]


def bring(settings: Settings, report: Report, stop: threading.Event) -> None:
    """Download what is missing. Blocking; what a broken download left is gone on with.

    Raises:
        ModelError: a model could not be brought; PullStopped: `stop` was set.
        StoreError: the disk is full, or can't be written.
    """
    shop = open_workshop(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    shop.store.pull([name for name in missing if name != shop.profile.llm], report, stop)
    if shop.profile.llm in missing:
        # For `default` what the network can serve decides with.
        notes = notes_in(shop.store.cache)
        choice = profiles.choose(
            settings.general.profile, shop.hardware, shop.store, notes, anew=True
        )
        profiles.pull(shop.store, choice, shop.hardware, notes, report, stop)


class Progress:
    """How far a download of several models is, and how long it will take."""

    def __init__(self, models: Sequence[Needed]) -> None:
        self._sizes = {model.name: model.bytes for model in models}
        self._done: dict[str, int] = {}
        self._seen: deque[tuple[float, int]] = deque()
        self.step: Step | None = None

    def see(self, step: Step, now: float) -> None:
        """Take in how far a model is; `now` in seconds, of any clock that only goes forward."""
        if step.doing == "downloading":
            if self.step is not None and self.step.model != step.model:
                self._done[self.step.model] = self._sizes.get(self.step.model, 0)
            self._sizes.setdefault(step.model, step.total)
            share = step.done / step.total if step.total else 0.0
            self._done[step.model] = round(share * self._sizes[step.model])
            self._seen.append((now, self.done))
            while now - self._seen[0][0] > RATE_S:
                self._seen.popleft()
        self.step = step

    @property
    def done(self) -> int:
        return sum(self._done.values())

    @property
    def total(self) -> int:
        return sum(self._sizes.values())

    @property
    def rate(self) -> float | None:
        """Bytes a second, lately; None until it can be told."""
        if len(self._seen) < 2:
            return None
        (began, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - began) if now > began and done > before else None

    @property
    def left_s(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None
