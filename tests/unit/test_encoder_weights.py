"""An adapter in peft's form, added to the weights that it was made for."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from assistant.errors import ModelCorrupt
from models import catalogue
from models.encoder_weights import Array, read_adapter

NAME = "encoder.layer.1.output.dense"
WEIGHTS = {f"{NAME}.weight": np.zeros((3, 5), np.float32)}
DOWN = np.arange(10, dtype=np.float16).reshape(2, 5)
UP = np.arange(6, dtype=np.float16).reshape(3, 2)


def adapter(folder: Path, factors: Mapping[str, Array]) -> Path:
    config = json.dumps({"r": 2, "lora_alpha": 4, "peft_type": "LORA"})
    (folder / "adapter_config.json").write_text(config, encoding="utf-8")
    save_file(
        {f"base_model.model.{name}": value for name, value in factors.items()},
        folder / "adapter_model.safetensors",
    )
    return folder


def test_the_product_of_its_factors_is_added_with_its_scale(tmp_path: Path) -> None:
    there = adapter(tmp_path, {f"{NAME}.lora_A.weight": DOWN, f"{NAME}.lora_B.weight": UP})
    [(name, added)] = read_adapter(there, WEIGHTS).items()
    assert name == f"{NAME}.weight"
    assert added.dtype == np.float32
    np.testing.assert_array_equal(added, 2 * (UP @ DOWN))


@pytest.mark.parametrize(
    "factors",
    [
        {f"{NAME}.lora_A.weight": DOWN},
        {f"{NAME}.lora_A.weight": DOWN[:, :4], f"{NAME}.lora_B.weight": UP},
        {"encoder.layer.9.q.lora_A.weight": DOWN, "encoder.layer.9.q.lora_B.weight": UP},
    ],
    ids=["half of it", "another shape", "a layer that is not there"],
)
def test_one_that_does_not_fit_is_refused(tmp_path: Path, factors: Mapping[str, Array]) -> None:
    there = adapter(tmp_path, {name: np.ascontiguousarray(each) for name, each in factors.items()})
    with pytest.raises(ModelCorrupt, match=r"adapter in .* can't be read"):
        read_adapter(there, WEIGHTS)


def test_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt, match="adapter in"):
        read_adapter(tmp_path / "nowhere", WEIGHTS)


def test_those_of_the_catalogue_are_the_ones_that_it_names() -> None:
    adapters = [each.adapter for each in catalogue.read().models.values() if each.adapter]
    assert adapters
    for each in adapters:
        found = (each.path / "adapter_model.safetensors").read_bytes()
        assert sha256(found).hexdigest() == each.sha256
