"""Download the missing models that a session needs, before the session starts."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.settings import Settings
from models.catalogue import ModelRole
from models.download import DownloadProgress, Report
from models.selection import choose_profile, pull_choice, select_models, wanted_models

RATE_S = 8.0
"""Number of seconds over which the speed of a download is averaged."""
FOR = {
    ModelRole.STT: "hearing",
    ModelRole.LLM: "thinking",
    ModelRole.TTS: "speaking",
    ModelRole.ENCODER: "remembering",
}


@dataclass(frozen=True, slots=True)
class Needed:
    """A model that must be downloaded, with its role in words and its size in bytes."""

    name: str
    role: str
    bytes: int


def missing_models(settings: Settings) -> list[Needed]:
    """Return the models required by these settings but missing on this machine. Blocking.

    Raises:
        SettingsError: the profile in the settings doesn't exist.
    """
    shop = select_models(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    models = [shop.store.catalogue.get(name) for name in missing]
    return [Needed(model.name, FOR[model.role], model.bytes) for model in models]


def download_missing(settings: Settings, report: Report, stop: threading.Event) -> None:
    """Download the missing models, and resume downloads that were interrupted. Blocking.

    Args:
        report: called with the progress.
        stop: set this event to stop the download.

    Raises:
        ModelError: a model could not be downloaded.
        PullStopped: `stop` was set.
        StoreError: the disk is full or can't be written.
    """
    shop = select_models(settings)
    missing = shop.store.missing(wanted_models(settings, shop))
    shop.store.pull([name for name in missing if name != shop.profile.llm], report, stop)
    if shop.profile.llm in missing:
        # The language model of the profile `default` depends on which models can be downloaded.
        choice = choose_profile(settings.general.profile, shop.hardware, shop.store, anew=True)
        pull_choice(shop.store, choice, shop.hardware, report, stop)


class Progress:
    """Computes the total progress, the speed and the time left while models are downloaded."""

    def __init__(self, models: Sequence[Needed]) -> None:
        self._sizes = {model.name: model.bytes for model in models}
        self._done: dict[str, int] = {}
        self._seen: deque[tuple[float, int]] = deque()
        self.step: DownloadProgress | None = None

    def see(self, step: DownloadProgress, now: float) -> None:
        """Record the progress of a model.

        Args:
            now: the time in seconds, from a monotonic clock.
        """
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
        """The recent speed in bytes per second; None if unknown."""
        if len(self._seen) < 2:
            return None
        (began, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - began) if now > began and done > before else None

    @property
    def left_s(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None
