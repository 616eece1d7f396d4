"""A very small sentence encoder: one layer with random weights."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from models.encoder.graph import Graph, build
from models.encoder.onnx import FULL, QUANTISED
from models.encoder.preparation import reach
from models.encoder.weights import WEIGHTS, Published, read_published

WIDTH, INNER, VOCABULARY, LENGTH = 8, 16, 5000, 16
TABLE = "embeddings.word_embeddings.weight"
TABLE_BYTES = 4 * VOCABULARY * WIDTH
IDS = np.random.default_rng(5).integers(0, VOCABULARY, (3, 7))


def publish(folder: Path) -> Published:
    """Write a BERT as sentence-transformers publishes it. By far the largest of its weights is the
    table of word embeddings."""
    layer = "encoder.layer.0"
    dense = {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    dense[f"{layer}.attention.output.dense"] = (WIDTH, WIDTH)
    dense[f"{layer}.intermediate.dense"] = (INNER, WIDTH)
    dense[f"{layer}.output.dense"] = (WIDTH, INNER)
    shapes: dict[str, tuple[int, ...]] = {
        TABLE: (VOCABULARY, WIDTH),
        "embeddings.position_embeddings.weight": (LENGTH, WIDTH),
    }
    for name, shape in dense.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for norm in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes |= {f"{norm}.LayerNorm.{part}": (WIDTH,) for part in ("weight", "bias")}
    numbers = np.random.default_rng(7)
    weights = {name: numbers.normal(size=each).astype(np.float32) for name, each in shapes.items()}
    save_file(weights, folder / WEIGHTS)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": WIDTH,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "modules.json").write_text("[]", encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = json.dumps({"pooling_mode_mean_tokens": True})
    (folder / "1_Pooling" / "config.json").write_text(pooling, encoding="utf-8")
    return read_published(folder)


def prepare(folder: Path, published: Published) -> None:
    """Add a tokenizer, which knows no word, and both graphs, which refer to the published table."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    described = json.dumps({"max_seq_length": LENGTH})
    (folder / "sentence_bert_config.json").write_text(described, encoding="utf-8")
    for file, seen in ((FULL, None), (QUANTISED, reach(published, IDS.tolist()))):
        model = build(Graph(seen, beside=True), published)
        (folder / file).write_bytes(model.SerializeToString())
