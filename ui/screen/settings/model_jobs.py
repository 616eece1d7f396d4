"""What is done to models while a screen stays responsive: downloads and checks, each in a thread of
its own, and how far they are. Knows nothing of how it is drawn."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from assistant.errors import AssistantError
from assistant.paths import Home, models_cache
from models.download import DownloadProgress, PullStopped
from ui.process.unexpected import UnexpectedError

if TYPE_CHECKING:
    from models.download import ModelStore

logger = logging.getLogger(__name__)

Doing = Literal["download", "check"]
WORDS = {"ready": "here", "missing": "missing", "partial": "in part", "corrupt": "damaged"}
"""For `models.download.cache.State`."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model of the catalogue, as it is on this machine."""

    name: str
    title: str
    role: str
    bytes: int
    ram_mb: int
    languages: tuple[str, ...]
    licence: str
    state: str
    """Of `models.download.cache.State`."""
    stem: str
    """Of the file that an engine is pointed at: some engines call the model so."""

    @property
    def here(self) -> bool:
        return self.state == "ready"


@dataclass(slots=True)
class ModelTask:
    """One piece of work on one model. Written by its thread, read by whoever shows it."""

    model: str
    doing: Doing
    stop: threading.Event = field(default_factory=threading.Event)
    step: DownloadProgress | None = None
    over: bool = False
    failed: AssistantError | None = None
    downloading_since: tuple[float, int] | None = None
    """When the first bytes of this download were told of, and how many were there already."""

    @property
    def stopped(self) -> bool:
        return isinstance(self.failed, PullStopped)

    def left_s(self, now: float) -> float | None:
        """Seconds that the rest of a download takes at its pace so far; None while that is unknown.

        Args:
            now: of `time.monotonic`.
        """
        if self.step is None or self.downloading_since is None:
            return None
        since, before = self.downloading_since
        gained = self.step.done - before
        if gained <= 0 or now <= since:
            return None
        return (self.step.total - self.step.done) * (now - since) / gained


class ModelTasks:
    """At most one job a model.

    Args:
        store: made in the first thread that needs it, since it reads the disk.
        home: whose log has the details of what nobody foresaw.
    """

    def __init__(self, store: Callable[[], "ModelStore"], home: Home) -> None:
        self._make = store
        self._made: ModelStore | None = None
        self._making = threading.Lock()
        self._home = home
        self.jobs: dict[str, ModelTask] = {}

    @property
    def busy(self) -> bool:
        return any(not job.over for job in self.jobs.values())

    def store(self) -> "ModelStore":
        """Blocking the first time."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def rows(self) -> list[ModelRow]:
        """All of the catalogue. Blocking."""
        store = self.store()
        return [
            ModelRow(
                name=model.name,
                title=model.title,
                role=model.role.value,
                bytes=model.bytes,
                ram_mb=model.ram_mb,
                languages=model.languages,
                licence=model.licence,
                state=store.state(model.name).value,
                stem=PurePosixPath(model.files[0].name).stem,
            )
            for model in store.catalogue.models.values()
        ]

    def begin(self, model: str, doing: Doing) -> None:
        """Unless there is something at work on it already."""
        there = self.jobs.get(model)
        if there is not None and not there.over:
            return
        job = self.jobs[model] = ModelTask(model, doing)
        # A daemon: a network that hangs must not keep the screen from ending.
        threading.Thread(target=self._work, args=(job,), name=f"model {model}", daemon=True).start()

    def stop(self, model: str) -> None:
        """What was downloaded so far is kept."""
        if model in self.jobs:
            self.jobs[model].stop.set()

    def stop_all(self) -> None:
        for job in self.jobs.values():
            job.stop.set()

    def remove(self, model: str) -> int:
        """Returns bytes freed. Blocking.

        Raises:
            ModelMissing: it isn't there.
            StoreError: another process is changing the models.
        """
        return self.store().remove(model)

    def _work(self, job: ModelTask) -> None:
        def report(step: DownloadProgress) -> None:
            if step.doing == "downloading" and job.downloading_since is None:
                job.downloading_since = (time.monotonic(), step.done)
            job.step = step

        try:
            if job.doing == "download":
                self.store().pull([job.model], report, job.stop)
            else:
                self.store().verify(job.model, report, job.stop)
        except AssistantError as error:
            job.failed = error
        except Exception as error:
            logger.error("work on a model failed", exc_info=error)
            job.failed = UnexpectedError(error, self._home.log)
        job.over = True


def open_store() -> "ModelStore":
    """Of this machine's cache and the catalogue that is shipped."""
    from models import catalogue
    from models.download import ModelStore

    return ModelStore(models_cache(), catalogue.read())
