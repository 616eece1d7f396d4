"""An adapter in peft's format is added to the weights that it was made for."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from assistant.errors import ModelCorrupt
from models import catalogue
from models.encoder.weights import ARCHITECTURES, Array, Published, distil, read_adapter

NAME = "encoder.layer.1.output.dense"
WEIGHTS = {f"{NAME}.weight": np.zeros((3, 5), np.float32)}
DOWN = np.arange(10, dtype=np.float16).reshape(2, 5)
UP = np.arange(6, dtype=np.float16).reshape(3, 2)
FACTORS = {f"{NAME}.lora_A.weight": DOWN, f"{NAME}.lora_B.weight": UP}


def adapter(
    folder: Path, factors: Mapping[str, Array], layers: Sequence[int] | None = None
) -> Path:
    config = {"r": 2, "lora_alpha": 4, "peft_type": "LORA", "layers_to_transform": layers}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(
        {f"base_model.model.{name}": value for name, value in factors.items()},
        folder / "adapter_model.safetensors",
    )
    return folder


@pytest.mark.parametrize(
    "factors",
    [
        {f"{NAME}.lora_A.weight": DOWN},
        {f"{NAME}.lora_A.weight": DOWN[:, :4], f"{NAME}.lora_B.weight": UP},
        {"encoder.layer.9.q.lora_A.weight": DOWN, "encoder.layer.9.q.lora_B.weight": UP},
    ],
    ids=["half of the adapter", "a wrong shape", "a missing layer"],
)
def test_an_adapter_that_does_not_fit_is_refused(
    tmp_path: Path, factors: Mapping[str, Array]
) -> None:
    there = adapter(tmp_path, {name: np.ascontiguousarray(each) for name, each in factors.items()})
    with pytest.raises(ModelCorrupt, match=r"adapter in .* can't be read"):
        read_adapter(there, WEIGHTS)
    with pytest.raises(ModelCorrupt, match="adapter in"):
        read_adapter(tmp_path / "nowhere", WEIGHTS)


def published(adapted: Array) -> Published:
    """A model with three layers, the second of which was adapted."""
    return Published(
        {}, dict(WEIGHTS), ARCHITECTURES["bert"], {f"{NAME}.weight": adapted}, (0, 1, 2)
    )


def test_an_adapter_for_some_layers_keeps_only_these_and_adds_to_the_first_adapter(
    tmp_path: Path,
) -> None:
    whole = published(np.ones((3, 5), np.float32))
    some = distil(whole, adapter(tmp_path, FACTORS, [2, 1]))
    assert some.layers == (1, 2)
    np.testing.assert_array_equal(some[f"{NAME}.weight"], 1 + 2 * (UP @ DOWN))
    np.testing.assert_array_equal(whole[f"{NAME}.weight"], np.ones((3, 5)))
    assert whole.layers == (0, 1, 2)


@pytest.mark.parametrize("layers", [None, [], [1, 3], ["x"], 1])
def test_an_adapter_without_valid_layers_is_refused(
    tmp_path: Path, layers: Sequence[int] | None
) -> None:
    with pytest.raises(ModelCorrupt, match="adapter in"):
        distil(published(np.zeros((3, 5), np.float32)), adapter(tmp_path, FACTORS, layers))


def test_the_shipped_adapters_have_the_digests_of_the_catalogue() -> None:
    models = catalogue.read().models.values()
    adapters = [
        each
        for model in models
        for each in (model.adapter, model.distilled, model.intents, model.slots)
        if each
    ]
    assert adapters
    for each in adapters:
        found = (each.path / "adapter_model.safetensors").read_bytes()
        assert sha256(found).hexdigest() == each.sha256
