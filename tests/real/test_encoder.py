"""The prepared encoder gives the same vectors as the published one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from assistant.compose.engines import QUERY_TOKENS
from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.download import manifest
from models.download.cache import ModelStore
from models.encoder.graph import Graph, build, distance_buckets
from models.encoder.intents import INTENTS
from models.encoder.onnx import FULL, QUANTISED, OnnxEncoder
from models.encoder.preparation import main, reach
from models.encoder.slots import OnnxSlotReader
from models.encoder.weights import read_published
from tests.support.reference_encoder import reference

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

TEXTS = [
    "hello",
    "",
    "What did I tell you about my sister's wedding?",
    "The quick brown fox jumps over the lazy dog and goes home to sleep.",
    "Ünïcode, 你好, 😀",
    "word " * 2000,
]
QUESTIONS = [
    frame.format(thing)
    for frame in (
        "what did i tell you about {}",
        "remind me what i said about {}",
        "um so when was the thing with {} again",
        "how did i feel about {}",
    )
    for thing in ("my dog Max", "the dentist", "grandma's recipe", "the flight home", "my allergy")
]
LEAST_MEAN_COSINE = 0.985
"""Least mean cosine, over questions, between quantised and full precision in the same layers."""
LEAST_OF_DISTILLED = 0.9
"""Least mean cosine, over questions, between the vectors of distilled layers and all layers."""

Vectors = NDArray[np.float32]


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location("all-minilm-l6-v2")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> OnnxEncoder:
    return loaded(OnnxEncoder(folder))


def loaded(encoder: OnnxEncoder) -> OnnxEncoder:
    encoder.load()
    return encoder


def adapters_of(store: ModelStore, folder: Path) -> list[Path]:
    model = store.catalogue.get(folder.name)
    return [each.path for each in (model.adapter, model.distilled) if each]


def compare(store: ModelStore, folder: Path) -> None:
    adapter, *distilled = adapters_of(store, folder)
    truth = reference(folder, adapter, TEXTS + QUESTIONS)
    full = loaded(OnnxEncoder(folder, threads=2))
    vectors = full.encode(TEXTS + QUESTIONS)
    assert vectors.shape == truth.shape == (len(truth), full.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, truth, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    cut = ["word " * (QUERY_TOKENS - 2)]
    quick = loaded(
        OnnxEncoder(folder, quantised=True, max_tokens=QUERY_TOKENS, keep_end=True, threads=2)
    ).encode(TEXTS[:-1] + cut + TEXTS[-1:] + QUESTIONS)
    np.testing.assert_array_equal(quick[len(TEXTS) - 1], quick[len(TEXTS)])
    same = reference(folder, adapter, TEXTS[:-1] + cut + cut + QUESTIONS, *distilled)
    likeness = np.sum(quick * same, axis=1)
    assert likeness[-len(QUESTIONS) :].mean() > LEAST_MEAN_COSINE
    assert likeness.min() > 0.95
    if distilled:
        to_all = np.sum(quick[-len(QUESTIONS) :] * truth[-len(QUESTIONS) :], axis=1)
        assert LEAST_OF_DISTILLED < to_all.mean() < likeness[-len(QUESTIONS) :].mean()


def test_vectors_equal_those_of_the_published_model_with_its_adapter(
    store: ModelStore, folder: Path
) -> None:
    compare(store, folder)


@pytest.mark.long
def test_vectors_of_the_stronger_model_equal_the_published_ones(store: ModelStore) -> None:
    store.pull(["all-mpnet-base-v2"])
    compare(store, store.location("all-mpnet-base-v2"))


@pytest.mark.parametrize("quantised", [False, True])
def test_a_batch_has_the_same_vectors_in_the_same_order(folder: Path, quantised: bool) -> None:
    encoder = loaded(OnnxEncoder(folder, quantised=quantised))
    texts = [text[:600] for text in TEXTS + QUESTIONS]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts * 2), np.tile(alone, (2, 1)), atol=1e-5)


def test_no_texts_give_no_vectors(encoder: OnnxEncoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_a_long_text_is_cut_at_the_models_limit(encoder: OnnxEncoder) -> None:
    long, longer = encoder.encode(["word " * 300, "word " * 300_000])
    np.testing.assert_allclose(long, longer, atol=1e-6)


def test_only_the_end_of_a_long_question_is_encoded(folder: Path) -> None:
    asked = "where did i leave the key of the camping stove"
    rambling = f"{'so it was raining and ' * 50} {asked}"
    end = loaded(OnnxEncoder(folder, max_tokens=12, keep_end=True)).encode([asked, rambling])
    start = loaded(OnnxEncoder(folder, max_tokens=12)).encode([asked, rambling])

    np.testing.assert_allclose(end[0], start[0], atol=1e-6)
    np.testing.assert_allclose(end[1], end[0], atol=1e-6)
    assert start[0] @ start[1] < 0.5


@pytest.mark.parametrize("text", ["", " ", "\0", "a\0b", "\ud800", "x\udfff y", "x" * 1_000_000])
def test_unusual_text_has_a_vector(encoder: OnnxEncoder, text: str) -> None:
    vectors = encoder.encode([text])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_model_prepared_by_an_earlier_version_is_prepared_again_without_a_network(
    store: ModelStore, folder: Path, tmp_path: Path, encoder: OnnxEncoder
) -> None:
    copy = tmp_path / folder.name
    model, record = store.catalogue.get(folder.name), manifest.read(folder)
    assert record
    assert {FULL, QUANTISED, INTENTS, OnnxSlotReader.GRAPH} <= set(model.prepared)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*model.prepared))
    made = OnnxEncoder(copy)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        made.encode(["hello"])
    with pytest.raises(ModelMissing, match=r"encoder\.onnx is missing"):
        made.load()
    for name in model.prepared:
        (copy / name).write_bytes(b"earlier")
    earlier = tuple(each.model_copy(update={"bytes": 7}) for each in record.prepared)
    manifest.write(copy, record.model_copy(update={"preparation": 2, "prepared": earlier}))
    old = replace(store, cache=tmp_path, environment={"HF_ENDPOINT": "http://127.0.0.1:9"})
    assert old.missing([folder.name]) == [folder.name]

    [pulled] = old.pull([folder.name])

    assert pulled.bytes == 0
    old.verify(folder.name)
    for name in model.prepared:
        assert (copy / name).read_bytes() == (folder / name).read_bytes()
    made.load()
    np.testing.assert_array_equal(made.encode(TEXTS), encoder.encode(TEXTS))


def test_an_unusable_folder_is_explained(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == ModelMissing.exit_code
    assert "contains no sentence-transformers model" in capsys.readouterr().err
    for name in ("tokenizer.json", "config.json", "modules.json"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "encoder.onnx").write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        OnnxEncoder(tmp_path).load()

    assert main([str(tmp_path)]) == ModelCorrupt.exit_code
    (tmp_path / "1_Pooling").mkdir()
    shutil.copy(folder / "1_Pooling" / "config.json", tmp_path / "1_Pooling")
    weights = (folder / "model.safetensors").read_bytes()
    for damaged in (b"", weights[:5000], weights[:-1000], b"\xff" * 100):
        (tmp_path / "model.safetensors").write_bytes(damaged)
        assert main([str(tmp_path)]) == ModelCorrupt.exit_code
    (tmp_path / "config.json").write_text('{"model_type": "t5"}', encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert main([str(tmp_path)]) == ModelFailed.exit_code
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 6, lines
    assert "kind that can't be prepared: t5" in lines[-1]


def test_relative_positions_are_computed_as_in_transformers(tmp_path: Path) -> None:
    """Compares MPNet's attention with transformers, in a small model with random weights."""
    import torch
    from transformers import MPNetConfig, MPNetModel
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    config = MPNetConfig(
        vocab_size=99,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        initializer_range=0.5,
        max_position_embeddings=402,
    )
    model = MPNetModel(config).eval()
    model.save_pretrained(tmp_path, safe_serialization=True)
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    (tmp_path / "1_Pooling").mkdir()
    pooling = json.dumps({"pooling_mode_mean_tokens": True})
    (tmp_path / "1_Pooling" / "config.json").write_text(pooling, encoding="utf-8")
    ids = np.random.default_rng(5).integers(3, 99, (3, 400))
    with torch.no_grad():
        truth = model(torch.from_numpy(ids)).last_hidden_state.mean(dim=1).numpy()
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    ours = read_published(tmp_path)
    np.testing.assert_allclose(run(build(Graph(), ours), ids), truth, atol=1e-4)
    quantised = run(build(Graph(reach(ours, ids.tolist())), ours), ids)
    assert (quantised * truth).sum(axis=1).min() > 0.9

    away = np.arange(-401, 402)
    theirs = MPNetEncoder.relative_position_bucket(torch.from_numpy(away)).numpy()
    np.testing.assert_array_equal(distance_buckets(away, 32), theirs)


def run(model: onnx.ModelProto, ids: NDArray[np.int64]) -> Vectors:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"input_ids": ids})[0])
