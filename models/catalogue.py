"""Reads `catalogue.toml`, which lists the models with their files, digests and sources.

tests/unit/models/test_catalogue.py checks that the entries are consistent.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from assistant.errors import ModelMissing

SHIPPED = Path(__file__).with_name("catalogue.toml")
ADAPTERS = Path(__file__).with_name("adapters")


class ModelRole(StrEnum):
    """The task of a model. A profile names one model for each role."""

    STT = "stt"
    LLM = "llm"
    TTS = "tts"
    ENCODER = "encoder"


class Engine(StrEnum):
    """The engine that runs a model."""

    FASTER_WHISPER = "faster-whisper"
    LLAMA_CPP = "llama.cpp"
    MLX = "mlx"
    PIPER = "piper"
    ONNX = "onnx"


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelFile(_Entry):
    """A file of a model, as it was published."""

    name: str
    bytes: PositiveInt
    sha256: Sha256


class Hub(_Entry):
    """A repository on a model hub, pinned to one revision. The model's files are in its folder
    `folder`."""

    repo: str
    revision: str
    folder: str = ""

    def path(self, file: str) -> str:
        """Return the path part of a file's URL on the hub."""
        return f"{self.repo}/resolve/{self.revision}/{self.folder and self.folder + '/'}{file}"


class WheelPart(_Entry):
    """A file in a wheel (`NAME==VERSION`). Its content is one of the model's files, or the model's
    archive, or part of either."""

    wheel: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$")]
    member: str
    file: str
    bytes: PositiveInt | None = None


class ZipArchive(ModelFile):
    """A zip archive that is assembled from several pieces. The model's files are in its folder
    `folder`."""

    folder: str


class LoraAdapter(_Entry):
    """An adapter that is added to a model's weights when the model is prepared. `folder` is in
    `models/adapters`. `sha256` is the digest of its `adapter_model.safetensors`."""

    folder: str
    sha256: Sha256

    @property
    def path(self) -> Path:
        return ADAPTERS / self.folder


class AnswerAdapter(_Entry):
    """An adapter with which a language model answers as this assistant should. The engine adds it
    when it loads the model. `file` is in `models/adapters`, in the engine's format."""

    file: str
    sha256: Sha256

    @property
    def path(self) -> Path:
        return ADAPTERS / self.file


class Model(_Entry):
    """One entry of the catalogue."""

    name: str
    role: ModelRole
    engine: Engine
    title: str
    licence: str
    languages: tuple[str, ...]
    ram_mb: PositiveInt
    tried: bool = True
    """Whether somebody has run this model with this assistant."""
    files: Annotated[tuple[ModelFile, ...], Field(min_length=1)]
    hub: Hub | None = None
    pieces: tuple[WheelPart, ...] = ()
    archive: ZipArchive | None = None
    prepared: tuple[str, ...] = ()
    adapter: LoraAdapter | None = None
    distilled: LoraAdapter | None = None
    """An adapter for encoding questions with fewer of an encoder's layers, which is faster."""
    intents: LoraAdapter | None = None
    """An adapter with which an encoder recognises commands to the assistant itself."""
    slots: LoraAdapter | None = None
    """An adapter with which an encoder finds the values of a form's slots in an utterance."""
    reranker: LoraAdapter | None = None
    """An adapter with which an encoder judges which memories answer a question."""
    turns: LoraAdapter | None = None
    """An adapter with which an encoder judges whether a speaker's words are complete."""
    answers: AnswerAdapter | None = None

    def answers_in(self, language: str) -> Path | None:
        """The adapter for conversations in a language, such as "en-GB", if there is one. All of
        them have learnt from English."""
        english = language.partition("-")[0] == "en"
        return self.answers.path if self.answers and english else None

    @property
    def adapters(self) -> dict[str, LoraAdapter]:
        """The adapters that the model has, by the names of their fields."""
        return {name: each for name, each in self if isinstance(each, LoraAdapter)}

    @property
    def digests(self) -> dict[str, Sha256]:
        """The digests of `adapters`."""
        return {name: each.sha256 for name, each in self.adapters.items()}

    @property
    def bytes(self) -> int:
        """The total size of the published files. Files made by the preparation don't count."""
        return sum(file.bytes for file in self.files)

    def piece_bytes(self, piece: WheelPart) -> int:
        """Return the size in bytes of an unpacked piece."""
        if piece.bytes is not None:
            return piece.bytes
        return next(file.bytes for file in self.piece_files if file.name == piece.file)

    @property
    def piece_files(self) -> tuple[ModelFile, ...]:
        """The files that are assembled from the pieces: the archive if the model has one, else its
        files."""
        return (self.archive,) if self.archive else self.files


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models by name."""

    models: Mapping[str, Model]

    def get(self, name: str) -> Model:
        """Return the model with this name. Raises ModelMissing if there is none."""
        try:
            return self.models[name]
        except KeyError:
            raise ModelMissing(
                f"There is no model `{name}` in the catalogue.", mend="assistant models list"
            ) from None


def parse(tables: Mapping[str, Mapping[str, Any]]) -> Catalogue:
    """Build a catalogue from parsed TOML. Raises ValueError if a field is missing, unknown or of a
    wrong type."""
    return Catalogue(
        {name: Model.model_validate({"name": name, **table}) for name, table in tables.items()}
    )


def read() -> Catalogue:
    """Read the catalogue that is part of this program."""
    return parse(tomllib.loads(SHIPPED.read_text(encoding="utf-8")))
