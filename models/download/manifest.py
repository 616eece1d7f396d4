"""What a complete model in the cache consists of: the record beside its files.

The digests of the catalogue's files are those they were verified against; prepared files have
been made on this machine, so theirs are recorded here alone.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from models.catalogue import Model, ModelFile

NAME = "manifest.json"
PREPARATION = 2
"""Raised when other files are made of the same model."""


class Manifest(BaseModel):
    """The record of one model; `source` tells the user where it came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    source: str
    files: tuple[ModelFile, ...]
    prepared: tuple[ModelFile, ...] = ()
    preparation: int = 1
    """Of what was prepared."""
    adapter: str = ""
    """The SHA-256 of what the published weights were adapted by; "" where they weren't."""
    distilled: str = ""
    """That of what lets fewer layers encode questions; "" where all do."""


def read(folder: Path) -> Manifest | None:
    """None when there is none, or none that can be read."""
    try:
        return Manifest.model_validate_json((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def vectors_name(folder: Path) -> str:
    """What an encoder's vectors are called: those of one name can be compared. It is the model's
    name, and a mark of the adapter where there is one."""
    record = read(folder)
    mark = record.adapter[:6] if record else ""
    return f"{folder.name}+{mark}" if mark else folder.name


def write(folder: Path, manifest: Manifest) -> None:
    (folder / NAME).write_text(manifest.model_dump_json(indent=2), encoding="utf-8")


def fault(folder: Path, model: Model) -> str | None:
    """Why the folder isn't this model, by names and sizes alone; None when it is.

    Costs a `stat` a file. An old copy counts as faulty when the catalogue has moved on.
    """
    manifest = read(folder)
    if manifest is None:
        return "its manifest is missing or damaged"
    if manifest.files != model.files:
        return "it is another version than the catalogue's"
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
        return "what encodes questions was prepared by another version of this program"
    if absent := set(model.prepared) - {file.name for file in manifest.prepared}:
        return f"{min(absent)} was not prepared"
    return None
