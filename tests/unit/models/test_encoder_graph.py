"""Graphs use the table of words of the published file, with the results that a copy of it gives."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.errors import ModelCorrupt
from models.encoder.graph import Graph, build
from models.encoder.onnx import FULL, QUANTISED, OnnxEncoder, open_session
from models.encoder.preparation import reach
from models.encoder.weights import WEIGHTS, Published
from tests.support.random_encoder import (
    IDS,
    TABLE,
    TABLE_BYTES,
    VOCABULARY,
    WIDTH,
    prepare,
    publish,
)


@pytest.fixture
def published(tmp_path: Path) -> Published:
    return publish(tmp_path)


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
    plain = written(published, tmp_path / "plain.onnx", quantised=False, beside=True)
    difference = np.random.default_rng(9).normal(size=(VOCABULARY, WIDTH)).astype(np.float32)
    adapted = replace(published, added={TABLE: difference})
    file = written(adapted, tmp_path / "adapted.onnx", quantised=False, beside=True)
    copied = written(adapted, tmp_path / "copied.onnx", quantised=False, beside=False)
    summed = replace(
        published, weights={**published.weights, TABLE: published.weights[TABLE] + difference}
    )
    expected = written(summed, tmp_path / "summed.onnx", quantised=False, beside=False)

    assert file.stat().st_size > TABLE_BYTES
    changed = vectors(file)
    np.testing.assert_array_equal(changed, vectors(copied))
    np.testing.assert_array_equal(changed, vectors(expected))
    assert np.abs(changed - vectors(plain)).max() > 0.01
    (tmp_path / WEIGHTS).unlink()
    np.testing.assert_array_equal(vectors(file), changed)


@pytest.mark.parametrize("quantised", [False, True])
def test_an_encoder_whose_table_is_cut_off_or_missing_is_damaged(
    tmp_path: Path, published: Published, quantised: bool
) -> None:
    """A download that broke off, or a full disk, leaves the beginning of the file."""
    prepare(tmp_path, published)
    whole = OnnxEncoder(tmp_path, quantised=quantised)
    whole.load()
    table = published.places[TABLE]
    cut = tmp_path / "cut"
    cut.mkdir()  # the whole file is still mapped into memory
    for file in ("tokenizer.json", "sentence_bert_config.json", FULL, QUANTISED, WEIGHTS):
        shutil.copy(tmp_path / file, cut)

    def refused(match: str) -> None:
        with pytest.raises(ModelCorrupt, match=rf"can't be read: .*{match}") as error:
            OnnxEncoder(cut, quantised=quantised).load()
        assert error.value.mend == "assistant models pull cut"

    for length in (table.offset + table.length - 1, table.offset + table.length // 2, 5):
        os.truncate(cut / WEIGHTS, length)
        refused(r"\bwords\b.*out of bounds")
    (cut / WEIGHTS).unlink()
    refused(WEIGHTS)
