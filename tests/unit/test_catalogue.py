"""The shipped catalogue holds together, and a broken one is refused."""

import re
from typing import Any

import pytest

from assistant.errors import ModelMissing
from models import catalogue
from models.catalogue import Engine, ModelRole
from tests.support import small_models

SHIPPED = catalogue.read()


def test_every_role_and_engine_has_a_model() -> None:
    assert {model.role for model in SHIPPED.models.values()} == set(ModelRole)
    assert {model.engine for model in SHIPPED.models.values()} == set(Engine)


@pytest.mark.parametrize("model", SHIPPED.models.values(), ids=SHIPPED.models)
def test_sources_are_pinned_and_sizes_add_up(model: catalogue.Model) -> None:
    """That pieces make up their files to the byte is checked when the catalogue is read."""
    assert model.hub is not None
    assert re.fullmatch(r"[0-9a-f]{40}|v\d+\.\d+\.\d+", model.hub.revision)
    assert model.ram_mb << 20 > model.bytes // 2
    digests = [file.sha256 for file in model.files]
    assert len(set(digests)) == len(digests)


def test_models_that_a_blocked_hub_must_not_prevent_have_wheels() -> None:
    mirrored = {name for name, model in SHIPPED.models.items() if model.pieces}

    assert mirrored >= {
        "whisper-tiny.en",
        "whisper-base",
        "smollm2-135m-instruct",
        "qwen2.5-coder-0.5b-instruct",
        "qwen2.5-coder-1.5b-instruct",
        "all-minilm-l6-v2",
        "all-mpnet-base-v2",
        "piper-en-us-joe-medium",
    }


def test_a_file_in_a_folder_of_the_hub() -> None:
    voice = SHIPPED.get("piper-en-us-joe-medium")

    assert voice.hub is not None
    assert voice.hub.path("a.onnx") == (
        "rhasspy/piper-voices/resolve/v1.0.0/en/en_US/joe/medium/a.onnx"
    )


def test_an_unknown_name_is_one_clear_sentence() -> None:
    with pytest.raises(ModelMissing, match="no model `gpt-9`") as caught:
        SHIPPED.get("gpt-9")

    assert caught.value.mend == "assistant models list"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"hub": None, "pieces": None}, "no source"),
        ({"pieces": small_models.table()["pieces"][:-1]}, "don't add up"),
        ({"files": small_models.table()["files"] * 2}, "named twice"),
        ({"files": [{"name": "../x", "bytes": 1, "sha256": "0" * 64}]}, "not a path inside"),
        ({"files": [{"name": "/x", "bytes": 1, "sha256": "0" * 64}]}, "not a path inside"),
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
