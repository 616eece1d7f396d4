"""Downloads and checks models in the background, each on its own thread, and reports progress.
Knows nothing about drawing."""

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
from ui.process.console import UnexpectedError

if TYPE_CHECKING:
    from models.catalogue import Model
    from models.download import ModelStore

logger = logging.getLogger(__name__)

Doing = Literal["download", "check"]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A catalogue model and its state on this machine."""

    model: "Model"
    state: str
    """A `models.download.cache.ModelState`."""

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def role(self) -> str:
        return self.model.role.value

    @property
    def here(self) -> bool:
        return self.state == "ready"

    @property
    def stem(self) -> str:
        """Name of the model's file without its suffix; some engines call the model by this name."""
        return PurePosixPath(self.model.files[0].name).stem


@dataclass(slots=True)
class ModelTask:
    """One job on one model; written by its own thread, and read by the screen."""

    model: str
    doing: Doing
    stop: threading.Event = field(default_factory=threading.Event)
    step: DownloadProgress | None = None
    over: bool = False
    failed: AssistantError | None = None
    downloading_since: tuple[float, int] | None = None
    """When this download's first bytes were reported, and how many there were already."""

    @property
    def stopped(self) -> bool:
        return isinstance(self.failed, PullStopped)

    def left_s(self, now: float) -> float | None:
        """Seconds left of a download at its speed so far; None if unknown.

        Args:
            now: from `time.monotonic`.
        """
        if self.step is None or self.downloading_since is None:
            return None
        since, before = self.downloading_since
        gained = self.step.done - before
        if gained <= 0 or now <= since:
            return None
        return (self.step.total - self.step.done) * (now - since) / gained


class ModelTasks:
    """At most one job per model.

    Args:
        store: created in the first thread that needs it, since it reads the disk.
        home: its log has the details of unexpected errors.
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
        """The store, which the first call creates; that call blocks."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def rows(self) -> list[ModelRow]:
        """The whole catalogue. Blocking."""
        store = self.store()
        models = store.catalogue.models.values()
        return [ModelRow(model, store.state(model.name).value) for model in models]

    def begin(self, model: str, doing: Doing) -> None:
        """Start a job, unless the model has one."""
        there = self.jobs.get(model)
        if there is not None and not there.over:
            return
        job = self.jobs[model] = ModelTask(model, doing)
        # A daemon: a hanging network must not keep the screen from ending.
        threading.Thread(target=self._work, args=(job,), name=f"model {model}", daemon=True).start()

    def stop(self, *models: str) -> None:
        """Stop the jobs on these models; what was downloaded is kept."""
        for model in models:
            if model in self.jobs:
                self.jobs[model].stop.set()

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
    """The store of this machine's cache and the shipped catalogue."""
    from models import catalogue
    from models.download import ModelStore

    return ModelStore(models_cache(), catalogue.read())
