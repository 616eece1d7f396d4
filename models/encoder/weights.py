"""Reads the published weights of a sentence encoder, and adds adapters to them.

An adapter is a low-rank difference to some of the weight matrices (LoRA, Hu et al. 2021), in peft's
format. It is added once, when the model is prepared, so it costs no time later. The adapters that
ship with the project are in `models/adapters`. The README there says which script trains each.

A second adapter is for questions only. With it, a few of the layers do the work of all layers, in a
fraction of the time (`scripts/distil_encoder.py`). With a third adapter, the published model
recognises intents (`models/encoder/intent_graph.py`). With a fourth, it fills in forms; with a
fifth, it judges memories; and with a sixth, it judges the words of a turn
(`models/encoder/packed_graph.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing

Array = NDArray[Any]

WEIGHTS = "model.safetensors"
"""Name of the file with the published weights."""

WRAPPED = "base_model.model."
DOWN, UP = ".lora_A.weight", ".lora_B.weight"
"""Prefix and suffixes that peft adds to the name of a weight matrix."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A kind of model: the names of its weights, and the index of its first position embedding."""

    query_key_value: tuple[str, str, str]
    attended: str
    attended_norm: str
    first_position: int


ARCHITECTURES = {
    "bert": Architecture(
        ("attention.self.query", "attention.self.key", "attention.self.value"),
        "attention.output.dense",
        "attention.output.LayerNorm",
        first_position=0,
    ),
    "mpnet": Architecture(
        ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        "attention.attn.o",
        "attention.LayerNorm",
        first_position=2,
    ),
}


class Place(NamedTuple):
    """Where a tensor is in a file: the first byte and the number of bytes."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Published:
    """A published model, and the adapters to be added to it.

    Attributes:
        config: the contents of config.json.
        weights: the published weights by name.
        added: the adapters' differences by the name of the weight.
        layers: the indices of the layers in use.
        places: where each published weight of 32-bit floats is stored in `WEIGHTS`, by name.
    """

    config: dict[str, Any]
    weights: dict[str, Array]
    architecture: Architecture
    added: Mapping[str, Array]
    layers: tuple[int, ...]
    places: Mapping[str, Place] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        weight = np.asarray(self.weights[name], np.float32)
        return weight + self.added[name] if name in self.added else weight

    def place(self, name: str) -> Place | None:
        """Return where a weight is stored in `WEIGHTS`.

        Returns None if an adapter changes the weight, or if it isn't stored as 32-bit floats.
        """
        return None if name in self.added else self.places.get(name)

    @property
    def heads(self) -> int:
        return int(self.config["num_attention_heads"])

    @property
    def dimensions(self) -> int:
        return int(self.config["hidden_size"])


def read_published(folder: Path, adapter: Path | None = None) -> Published:
    """Read the sentence-transformers model in `folder`, and the adapter in the folder `adapter`.

    Raises:
        ModelMissing: the published files are missing.
        ModelCorrupt: a published file or the adapter can't be read, or the adapter is for another
            model.
        ModelFailed: models of this kind can't be prepared.
    """
    if not (folder / "modules.json").is_file():
        raise ModelMissing(f"{folder} contains no sentence-transformers model.")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
        weights = read_tensors(folder / WEIGHTS)
        places = float_places(folder / WEIGHTS)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelCorrupt(f"The encoder in {folder} can't be read: {error}.") from error
    kind = config.get("model_type")
    if kind not in ARCHITECTURES or config.get("hidden_act") != "gelu":
        raise ModelFailed(f"The encoder in {folder} is of a kind that can't be prepared: {kind}.")
    if not pooling.get("pooling_mode_mean_tokens"):
        raise ModelFailed(f"The encoder in {folder} is not supported: it doesn't use mean pooling.")
    added = read_adapter(adapter, weights)[0] if adapter else {}
    layers = tuple(range(int(config["num_hidden_layers"])))
    return Published(config, weights, ARCHITECTURES[kind], added, layers, places)


def distil(published: Published, folder: Path) -> Published:
    """Return the model with the adapter in `folder` added, and only the layers that it changes.

    Raises:
        ModelCorrupt: the adapter can't be read, or is made for other layers.
    """
    added, layers = read_adapter(folder, published.weights)
    if not layers or not set(layers) <= set(published.layers):
        raise ModelCorrupt(f"The encoder's adapter in {folder} doesn't fit its layers: {layers}.")
    both = dict(published.added)
    for name, value in added.items():
        both[name] = both[name] + value if name in both else value
    return replace(published, added=both, layers=layers)


def read_adapter(
    folder: Path, weights: Mapping[str, Array]
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Read the peft adapter in `folder`.

    Returns:
        The values to add to `weights`, by the name of the weight, and the sorted indices of the
        layers that the adapter is limited to (empty if it is not limited).

    Raises:
        ModelCorrupt: the adapter can't be read, or is made for other weights.
    """
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        layers = tuple(sorted(int(each) for each in config.get("layers_to_transform") or ()))
        scale = config["lora_alpha"] / config["r"]
        factors = read_tensors(folder / "adapter_model.safetensors")
        added = {}
        for name, down in factors.items():
            if not name.endswith(DOWN):
                continue
            up = np.asarray(factors[name.removesuffix(DOWN) + UP], np.float32)
            target = name.removesuffix(DOWN).removeprefix(WRAPPED) + ".weight"
            # Not `@`, for reproducibility: its last bits depend on the number of threads.
            product = np.einsum("or,ri->oi", up, np.asarray(down, np.float32))
            added[target] = np.float32(scale) * product
            if added[target].shape != weights[target].shape:
                raise ValueError(f"{target} has the wrong shape")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelCorrupt(f"The encoder's adapter in {folder} can't be read: {error}.") from error
    return added, layers


def read_tensors(file: Path) -> dict[str, Array]:
    """Map a safetensors file into memory, and return its tensors by name."""
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    data, entries = _opened(file)
    return {
        name: data[place.offset :][: place.length]
        .view(kinds[entry["dtype"]])
        .reshape(entry["shape"])
        for name, (entry, place) in entries.items()
    }


def float_places(file: Path) -> dict[str, Place]:
    """Return where each tensor of 32-bit floats is stored in a safetensors file, by name."""
    entries = _opened(file)[1]
    return {name: place for name, (entry, place) in entries.items() if entry["dtype"] == "F32"}


def _opened(file: Path) -> tuple[Array, dict[str, tuple[dict[str, Any], Place]]]:
    """Map a safetensors file into memory. Return its bytes, and the entry and place of each tensor.

    The file consists of the header's length, the header in JSON, and the bytes of the tensors.
    """
    data = np.memmap(file, np.uint8, mode="r")
    length = int(data[:8].view("<u8")[0])
    if length > len(data) - 8:
        raise ValueError(f"{file.name} is truncated")
    header = json.loads(data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    entries = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        entries[name] = entry, Place(8 + length + start, end - start)
    return data, entries
