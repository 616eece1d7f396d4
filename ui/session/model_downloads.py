"""Brings the models that a session wants and that are not on this machine, before it starts."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.settings import Settings
from models.catalogue import ModelRole
from models.download import DownloadProgress, Report
from models.selection import choose_profile, notes_in, pull_choice, select_models, wanted_models

RATE_S = 8.0
"""The download's pace is that of so many seconds."""
FOR = {
    ModelRole.STT: "hearing",
    ModelRole.LLM: "thinking",
    ModelRole.TTS: "speaking",
    ModelRole.ENCODER: "remembering",
}


@dataclass(frozen=True, slots=True)
class Needed:
    """A model that has to be downloaded; the role in words that say what it is for."""

    name: str
    role: str
    bytes: int


def missing_models(settings: Settings) -> list[Needed]:
    """What is missing on this machine. Blocking. Raises SettingsError: there is no such profile."""
    shop = select_models(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    models = [shop.store.catalogue.get(name) for name in missing]
    return [Needed(model.name, FOR[model.role], model.bytes) for model in models]


def download_missing(settings: Settings, report: Report, stop: threading.Event) -> None:
    """Download what is missing. Blocking; what a broken download left is gone on with.

    Raises:
        ModelError: a model could not be brought; PullStopped: `stop` was set.
        StoreError: the disk is full, or can't be written.
    """
    shop = select_models(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    shop.store.pull([name for name in missing if name != shop.profile.llm], report, stop)
    if shop.profile.llm in missing:
        # For `default` what the network can serve decides with.
        notes = notes_in(shop.store.cache)
        choice = choose_profile(
            settings.general.profile, shop.hardware, shop.store, notes, anew=True
        )
        pull_choice(shop.store, choice, shop.hardware, notes, report, stop)


class Progress:
    """How far a download of several models is, and how long it will take."""

    def __init__(self, models: Sequence[Needed]) -> None:
        self._sizes = {model.name: model.bytes for model in models}
        self._done: dict[str, int] = {}
        self._seen: deque[tuple[float, int]] = deque()
        self.step: DownloadProgress | None = None

    def see(self, step: DownloadProgress, now: float) -> None:
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
