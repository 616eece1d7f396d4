"""Graphs use the table of words of the published file, with the results that a copy of it gives."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from models.encoder.graph import Graph, build
from models.encoder.onnx import open_session
from models.encoder.preparation import reach
from models.encoder.weights import WEIGHTS, Published, read_published

WIDTH, INNER, VOCABULARY = 8, 16, 5000
TABLE = "embeddings.word_embeddings.weight"
TABLE_BYTES = 4 * VOCABULARY * WIDTH
IDS = np.random.default_rng(5).integers(0, VOCABULARY, (3, 7))


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """A BERT of one layer with random weights."""
    layer = "encoder.layer.0"
    dense = {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    dense[f"{layer}.attention.output.dense"] = (WIDTH, WIDTH)
    dense[f"{layer}.intermediate.dense"] = (INNER, WIDTH)
    dense[f"{layer}.output.dense"] = (WIDTH, INNER)
    shapes: dict[str, tuple[int, ...]] = {
        TABLE: (VOCABULARY, WIDTH),
        "embeddings.position_embeddings.weight": (16, WIDTH),
    }
    for name, shape in dense.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for norm in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes |= {f"{norm}.LayerNorm.{part}": (WIDTH,) for part in ("weight", "bias")}
    numbers = np.random.default_rng(7)
    weights = {name: numbers.normal(size=each).astype(np.float32) for name, each in shapes.items()}
    save_file(weights, tmp_path / WEIGHTS)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": WIDTH,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "layer_norm_eps": 1e-12,
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    (tmp_path / "1_Pooling").mkdir()
    pooling = json.dumps({"pooling_mode_mean_tokens": True})
    (tmp_path / "1_Pooling" / "config.json").write_text(pooling, encoding="utf-8")
    return read_published(tmp_path)


def written(published: Published, file: Path, *, quantised: bool, beside: bool) -> Path:
    seen = reach(published, IDS.tolist()) if quantised else None
    file.write_bytes(build(Graph(seen, beside=beside), published).SerializeToString())
    return file


def vectors(file: Path) -> NDArray[np.float32]:
    return np.asarray(open_session(str(file), 1).run(None, {"input_ids": IDS})[0])


@pytest.mark.parametrize("quantised", [False, True])
def test_the_published_table_gives_the_same_bits_as_a_copy(
    tmp_path: Path, published: Published, quantised: bool
) -> None:
    copied = written(published, tmp_path / "copied.onnx", quantised=quantised, beside=False)
    shared = written(published, tmp_path / "shared.onnx", quantised=quantised, beside=True)

    assert copied.stat().st_size > TABLE_BYTES > 10 * shared.stat().st_size
    np.testing.assert_array_equal(vectors(shared), vectors(copied))


def test_a_quantised_graph_rounds_words_to_half_precision(
    tmp_path: Path, published: Published
) -> None:
    exact = written(published, tmp_path / "exact.onnx", quantised=True, beside=True)
    halved = published[TABLE].astype(np.float16).astype(np.float32)
    seen = reach(published, IDS.tolist())
    rounded = replace(published, weights={**published.weights, TABLE: halved})
    file = tmp_path / "rounded.onnx"
    file.write_bytes(build(Graph(seen), rounded).SerializeToString())

    np.testing.assert_array_equal(vectors(exact), vectors(file))


def test_a_table_that_an_adapter_changes_is_kept_in_the_graph(
    tmp_path: Path, published: Published
) -> None:
    changed = np.ones((VOCABULARY, WIDTH), np.float32)
    adapted = replace(published, added={TABLE: changed})
    file = written(adapted, tmp_path / "adapted.onnx", quantised=False, beside=True)

    assert file.stat().st_size > TABLE_BYTES
    assert np.abs(vectors(file)).max() <= 1
    (tmp_path / WEIGHTS).unlink()
    vectors(file)


def test_without_the_published_file_nothing_is_loaded(tmp_path: Path, published: Published) -> None:
    file = written(published, tmp_path / "shared.onnx", quantised=False, beside=True)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(Exception, match=WEIGHTS):
        open_session(str(file), 1)
    (tmp_path / WEIGHTS).write_bytes(b"short")
    with pytest.raises(Exception, match=r"shared|size|offset|length|external"):
        open_session(str(file), 1)
