"""Both encoders of the larger profiles, built as in the product."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.compose.engines import build_query_encoder
from assistant.errors import ModelFailed, ModelMissing
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from models.encoder.worker import EncoderProcess
from models.hardware import detect
from models.selection.profiles import SMALL, TINY, Choice
from models.selection.requested import ModelSelection
from tests.support.memories import NOW
from tests.support.patience import LEISURE_S
from tests.support.user_memory import user_memory

pytestmark = pytest.mark.real

SAID = [
    "Max loves fetch and long walks by the canal.",
    "It has rained since Tuesday.",
    "The train to Ghent was late again.",
    "We painted the kitchen yellow.",
]


def shop(store: ModelStore) -> ModelSelection:
    return ModelSelection(store, detect(), Choice(SMALL, "", (SMALL.llm,)))


def test_an_encoder_in_its_own_process_gives_the_same_vectors_and_restarts_after_a_rest(
    store: ModelStore,
) -> None:
    folder = store.location(TINY.encoder)
    beside = OnnxEncoder(folder)
    beside.load()
    apart = EncoderProcess(folder)
    apart.load()
    texts = [*SAID, "", "Ünïcode, 你好, 😀\ud83d", "two\nlines"]
    np.testing.assert_allclose(apart.encode(texts), beside.encode(texts), atol=1e-6)
    apart.rest()
    apart.rest()
    assert apart.encode([]).shape == (0, beside.dimensions)
    long = ["word " * 2_000] * 200
    stopping = threading.Timer(0.2, apart.rest)
    stopping.start()
    with pytest.raises(ModelFailed):
        apart.encode(long)
    stopping.join()
    np.testing.assert_allclose(apart.encode(SAID[:1]), beside.encode(SAID[:1]), atol=1e-6)
    apart.rest()


def test_errors_of_an_encoder_in_its_own_process_are_reported(tmp_path: Path) -> None:
    apart = EncoderProcess(tmp_path / "nothing")
    with pytest.raises(ModelMissing, match="incomplete"):
        apart.load()
    with pytest.raises(ModelFailed, match="missing"):
        apart.encode(["word"])
    apart.rest()


@pytest.mark.long
async def test_both_encoders_together_find_a_memory_asked_for_in_other_words(
    store: ModelStore, tmp_path: Path
) -> None:
    store.pull([*SMALL.encoders])
    encoder = build_query_encoder(shop(store))
    assert encoder.stronger is not None
    memory = user_memory(tmp_path / "memories", encoder)
    await memory.load(None)
    told = [Memory(new_id(), "ada", MemoryKind.FACT, text, NOW) for text in SAID]
    await asyncio.to_thread(memory.put, told)
    await asyncio.wrap_future(memory.strengthening.begin())
    assert await memory.strengthening.some(9) == len(SAID)
    memory.strengthening.rest()
    found = await memory.recall("what does my animal enjoy?", LEISURE_S)
    assert found.memories[0].text == SAID[0]
    assert not found.stand_in
    assert memory.table.encoders() == {encoder.stronger.name: 768, encoder.name: 384}
    await memory.close()


def test_a_named_encoder_is_used_without_a_second_one(store: ModelStore) -> None:
    encoder = build_query_encoder(shop(store), TINY.encoder)
    assert encoder.stronger is None
    alone = build_query_encoder(replace(shop(store), choice=Choice(TINY, "", (TINY.llm,))))
    assert alone.stronger is None
    assert alone.name == encoder.name
    assert encoder.name.startswith(TINY.encoder)
    for each in (encoder, alone):
        each.close()
