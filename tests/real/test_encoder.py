"""The exported encoder against the published one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.encoder import OnnxEncoder, main
from models.store import ModelStore

pytestmark = pytest.mark.real

TEXTS = [
    "hello",
    "",
    "What did I tell you about my sister's wedding?",
    "The quick brown fox jumps over the lazy dog and goes home to sleep.",
    "Ünïcode, 你好, 😀",
    "word " * 2000,
]


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location("all-minilm-l6-v2")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> OnnxEncoder:
    made = OnnxEncoder(folder)
    made.load()
    return made


@pytest.fixture(scope="module")
def published(folder: Path) -> np.ndarray:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return np.asarray(model.encode(TEXTS, normalize_embeddings=True))


def test_vectors_equal_the_published_model_s(encoder: OnnxEncoder, published: np.ndarray) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimensions) == published.shape
    assert vectors.dtype == np.float32
    assert (np.sum(vectors * published, axis=1) > 0.99999).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_quantised_vectors_are_near(folder: Path, published: np.ndarray) -> None:
    quick = OnnxEncoder(folder, quantised=True)
    quick.load()
    likeness = np.sum(quick.encode(TEXTS) * published, axis=1)
    assert (likeness > 0.8).all()
    assert likeness.mean() > 0.9


def test_a_batch_is_as_one_by_one_and_in_order(encoder: OnnxEncoder) -> None:
    many = TEXTS * 12
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(many), np.tile(alone, (12, 1)), atol=1e-5)


def test_no_texts(encoder: OnnxEncoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_long_text_is_cut_where_the_model_cuts(encoder: OnnxEncoder) -> None:
    long, longer = encoder.encode(["word " * 300, "word " * 3000])
    np.testing.assert_allclose(long, longer, atol=1e-6)


def test_it_is_prepared_from_the_files_of_the_catalogue(
    store: ModelStore, folder: Path, tmp_path: Path, encoder: OnnxEncoder
) -> None:
    copy = tmp_path / "encoder"
    for file in store.catalogue.get(folder.name).files:
        (copy / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / file.name, copy / file.name)
    made = OnnxEncoder(copy)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        made.encode(["hello"])
    with pytest.raises(ModelMissing, match=r"model\.onnx is missing"):
        made.load()
    assert main(["prepare", str(copy)]) == 0
    made.load()
    np.testing.assert_allclose(made.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    assert not list(copy.glob("*.part"))


def test_what_is_wrong_with_a_folder_is_told(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prepare", str(tmp_path)]) == ModelMissing.exit_code
    assert "holds no sentence-transformers model" in capsys.readouterr().err
    assert main([]) == 2
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        OnnxEncoder(tmp_path).load()
