"""Reads and writes the manifest, a file in each complete model's folder that lists the model's
files and their digests.

Published files were verified against these digests. Prepared files were made on this machine, so
only the manifest contains their digests.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from models.catalogue import Model, ModelFile

NAME = "manifest.json"
PREPARATION = 4
"""Version of the preparation. Increase it whenever a change makes the preparation produce different
files for the same model."""
ADAPTED = {
    "adapter": "it was adapted",
    "distilled": "its question encoder was prepared",
    "intents": "its intent classifier was prepared",
    "slots": "its model for forms was prepared",
    "reranker": "its model for judging memories was prepared",
    "turns": "its model for turns was prepared",
}
"""What was done with each adapter, by the name of its field."""


class Manifest(BaseModel):
    """The manifest of one model. `source` tells the user where the model was downloaded from.
    Fields that only other versions of this program write are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    source: str
    files: tuple[ModelFile, ...]
    prepared: tuple[ModelFile, ...] = ()
    preparation: int = 1
    """The value of `PREPARATION` when the files were prepared."""
    adapter: str = ""
    """SHA-256 of the adapter that was added to the published weights; "" if there is none."""
    distilled: str = ""
    """SHA-256 of the adapter for encoding questions with fewer layers; "" if there is none."""
    intents: str = ""
    """SHA-256 of the adapter for recognising intents; "" if there is none."""
    slots: str = ""
    """SHA-256 of the adapter for filling in forms; "" if there is none."""
    reranker: str = ""
    """SHA-256 of the adapter for judging memories; "" if there is none."""
    turns: str = ""
    """SHA-256 of the adapter for judging whether words end or interrupt a turn; "" if none."""


def read(folder: Path) -> Manifest | None:
    """Read the manifest in a model's folder. Return None if it is missing or unreadable."""
    try:
        return Manifest.model_validate_json((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def vectors_name(folder: Path) -> str:
    """Return the name of the vectors that the encoder in this folder computes. It is the model's
    name, followed by part of its adapter's digest if it has an adapter. Only vectors with the same
    name can be compared."""
    record = read(folder)
    mark = record.adapter[:6] if record else ""
    return f"{folder.name}+{mark}" if mark else folder.name


def write(folder: Path, manifest: Manifest) -> None:
    (folder / NAME).write_text(manifest.model_dump_json(indent=2), encoding="utf-8")


def fault(folder: Path, model: Model) -> str | None:
    """Return the reason why a folder doesn't contain the complete model. Return None if it does.

    Only the names and sizes of files are checked, with one `stat` per file. A model also counts as
    faulty if the catalogue now lists other files or adapters for it, or if another version of the
    program prepared it.
    """
    manifest = read(folder)
    if manifest is None:
        return "its manifest is missing or damaged"
    if manifest.files != model.files:
        return "it is not the version listed in the catalogue"
    for file in (*manifest.files, *manifest.prepared):
        try:
            size = folder.joinpath(*file.name.split("/")).stat().st_size
        except OSError:
            return f"{file.name} is missing"
        if size != file.bytes:
            return f"{file.name} has {size} bytes instead of {file.bytes}"
    if model.prepared and manifest.preparation != PREPARATION:
        return "it was prepared by another version of this program"
    for name, done in ADAPTED.items():
        if getattr(manifest, name) != model.digests.get(name, ""):
            return f"{done} by another version of this program"
    if absent := set(model.prepared) - {file.name for file in manifest.prepared}:
        return f"{min(absent)} was not prepared"
    return None
