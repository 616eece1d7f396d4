"""The manifest beside a complete model's files, which lists what the model consists of.

The catalogue's files were verified against the digests recorded here. Prepared files were made on
this machine, so their digests are recorded nowhere else.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from models.catalogue import Model, ModelFile

NAME = "manifest.json"
PREPARATION = 2
"""Version of the preparation; increased whenever it makes different files from the same model."""


class Manifest(BaseModel):
    """The record of one model; `source` tells the user where it came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    source: str
    files: tuple[ModelFile, ...]
    prepared: tuple[ModelFile, ...] = ()
    preparation: int = 1
    """The value of `PREPARATION` for the prepared files."""
    adapter: str = ""
    """SHA-256 of the adapter that was added to the published weights; "" if none."""
    distilled: str = ""
    """SHA-256 of the adapter that lets fewer layers encode questions; "" if none."""


def read(folder: Path) -> Manifest | None:
    """The manifest; None if it is missing or unreadable."""
    try:
        return Manifest.model_validate_json((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def vectors_name(folder: Path) -> str:
    """The name of an encoder's vectors; only vectors of the same name can be compared. It is the
    model's name, plus a mark for its adapter if it has one."""
    record = read(folder)
    mark = record.adapter[:6] if record else ""
    return f"{folder.name}+{mark}" if mark else folder.name


def write(folder: Path, manifest: Manifest) -> None:
    (folder / NAME).write_text(manifest.model_dump_json(indent=2), encoding="utf-8")


def fault(folder: Path, model: Model) -> str | None:
    """Why the folder isn't this complete model, judged only by names and sizes; None if it is.

    Costs one `stat` per file. An old copy counts as faulty once the catalogue has changed.
    """
    manifest = read(folder)
    if manifest is None:
        return "its manifest is missing or damaged"
    if manifest.files != model.files:
        return "it is a different version from the catalogue's"
    for file in (*manifest.files, *manifest.prepared):
        try:
            size = folder.joinpath(*file.name.split("/")).stat().st_size
        except OSError:
            return f"{file.name} is missing"
        if size != file.bytes:
            return f"{file.name} has {size} bytes instead of {file.bytes}"
    if model.prepared and manifest.preparation != PREPARATION:
        return "it was prepared by another version of this program"
    if manifest.adapter != model.adapted_by:
        return "it was adapted by another version of this program"
    if manifest.distilled != model.distilled_by:
        return "its question encoder was prepared by another version of this program"
    if absent := set(model.prepared) - {file.name for file in manifest.prepared}:
        return f"{min(absent)} was not prepared"
    return None
