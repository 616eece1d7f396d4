"""Download and check models in the background, each on its own thread.

Independent of how progress is drawn.
"""

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
    """A model of the catalogue and its state on this machine."""

    model: "Model"
    state: str
    """The value of a `models.download.cache.ModelState`."""

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
        """The name of the model's first file without its suffix. Some engines report this name."""
        return PurePosixPath(self.model.files[0].name).stem


@dataclass(slots=True)
class ModelTask:
    """The download or check of one model. The thread that runs it sets the attributes; the screen
    reads them."""

    model: str
    doing: Doing
    stop: threading.Event = field(default_factory=threading.Event)
    step: DownloadProgress | None = None
    over: bool = False
    failed: AssistantError | None = None
    downloading_since: tuple[float, int] | None = None
    """The time of the first report of a download, and the bytes that were already present then."""

    @property
    def stopped(self) -> bool:
        return isinstance(self.failed, PullStopped)

    def left_s(self, now: float) -> float | None:
        """Return the number of seconds left at the average speed so far; None if unknown.

        Args:
            now: the current time, from `time.monotonic`.
        """
        if self.step is None or self.downloading_since is None:
            return None
        since, before = self.downloading_since
        gained = self.step.done - before
        if gained <= 0 or now <= since:
            return None
        return (self.step.total - self.step.done) * (now - since) / gained


class ModelTasks:
    """Runs downloads and checks of models, at most one per model at a time.

    Args:
        store: creates the store. Called by the first thread that needs the store, because creating
            it reads the disk.
        home: the home whose log file has the details of unexpected errors.
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
        """Return the store. The first call creates the store and blocks."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def rows(self) -> list[ModelRow]:
        """Return all models of the catalogue with their states. Blocking."""
        store = self.store()
        models = store.catalogue.models.values()
        return [ModelRow(model, store.state(model.name).value) for model in models]

    def begin(self, model: str, doing: Doing) -> None:
        """Start a download or check, unless another is running for this model."""
        there = self.jobs.get(model)
        if there is not None and not there.over:
            return
        job = self.jobs[model] = ModelTask(model, doing)
        # A daemon thread, because a hanging download must not keep the program from ending.
        threading.Thread(target=self._work, args=(job,), name=f"model {model}", daemon=True).start()

    def stop(self, *models: str) -> None:
        """Stop the downloads and checks of these models. A stopped download can be resumed."""
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
    """Open the store of models in this machine's cache, with the shipped catalogue."""
    from models import catalogue
    from models.download import ModelStore

    return ModelStore(models_cache(), catalogue.read())
