"""The MLX adapter with real weights. On a CPU, mlx generates only a few tokens per second. So
prompts are short, and most tests are marked `long` there.

The engine is imported where it is needed: it imports torch, and every test process would wait for
that.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import pytest_asyncio

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing, ModelTooLarge
from assistant.paths import models_cache
from models.interfaces import Generation, Lane, Message
from models.llm.llama import LlamaCpp
from models.llm.mlx import FILES, MlxModel
from tests.support.gguf_to_mlx import convert
from tests.support.language import STORY, collect, tiny_gguf

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

slow_on_a_cpu = pytest.mark.long if sys.platform == "linux" else pytest.mark.real
SHORT = [Message("system", "Be brief."), Message("user", "Name a colour.")]
WORDS = [Message("system", "Be brief."), Message("user", "one two three four five " * 12)]
SCHEMA = {
    "type": "object",
    "properties": {"sure": {"type": "boolean"}, "mood": {"enum": ["glad", "sad"]}},
    "required": ["sure", "mood"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def folder() -> Path:
    """The tiny model in MLX format, converted once for all runs."""
    return convert(tiny_gguf(), models_cache() / ".converted" / "smollm2-135m-instruct-mlx-16bit")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm(folder: Path) -> AsyncIterator[MlxModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.llm.mlx_engine.PREFILL_TOKENS", 8)
        model = MlxModel(folder, context_tokens=512)
        await model.load()
        yield model
        await model.close()


async def test_an_answer_is_streamed_and_each_lane_keeps_its_cache(llm: MlxModel) -> None:
    request = Generation(SHORT, max_tokens=4, temperature=0)
    chunks = [chunk async for chunk in llm.stream(request)]
    answer = "".join(chunk.text for chunk in chunks)
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.prompt_tokens == usage.read_tokens == llm.count_messages(SHORT)
    assert 1 <= usage.generated_tokens <= 4
    assert len(chunks) > 1

    other = Generation([Message("user", "Hi.")], max_tokens=1, lane=Lane.BACKGROUND)
    await collect(llm, other)

    again, second = await collect(llm, request)
    assert again == answer  # the cache gives the same answer as reading everything again
    assert second.read_tokens == 1

    longer = [*SHORT, Message("assistant", answer), Message("user", "Why?")]
    text, read = await collect(llm, Generation(longer, max_tokens=0))
    assert text == ""
    assert read.generated_tokens == 0
    assert read.cached_tokens >= llm.count_messages(SHORT) - 1


@slow_on_a_cpu
async def test_a_converted_model_answers_like_its_gguf_original(llm: MlxModel) -> None:
    """The conversion preserves weights, vocabulary and template, and the adapter uses them."""
    llama = LlamaCpp(tiny_gguf(), context_tokens=512)
    await llama.load()
    request = Generation(SHORT, max_tokens=4, temperature=0)
    expected, usage = await collect(llama, request)
    assert llama.count_messages(STORY) == llm.count_messages(STORY)
    assert llama.count(str(STORY)) == llm.count(str(STORY))
    await llama.close()
    said, same = await collect(llm, request)
    assert said == expected
    assert same.prompt_tokens == usage.prompt_tokens


@slow_on_a_cpu
async def test_closing_a_stream_stops_the_model_between_two_tokens(llm: MlxModel) -> None:
    async with aclosing(llm.stream(Generation(SHORT, max_tokens=400))) as chunks:
        async for _ in chunks:
            break
    _, usage = await collect(llm, Generation(SHORT, max_tokens=1))
    assert usage.read_tokens == 1


@slow_on_a_cpu
async def test_cancelling_stops_the_model_while_it_reads(llm: MlxModel) -> None:
    reading = asyncio.create_task(collect(llm, Generation(WORDS, max_tokens=1)))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    _, usage = await collect(llm, Generation(SHORT, max_tokens=0))
    assert usage.prompt_tokens == llm.count_messages(SHORT)


@slow_on_a_cpu
async def test_background_work_yields_to_the_conversation(llm: MlxModel) -> None:
    order: list[str] = []

    async def run(name: str, request: Generation) -> None:
        await collect(llm, request)
        order.append(name)

    behind = Generation([Message("user", "Count.")], max_tokens=12, lane=Lane.BACKGROUND)
    background = asyncio.create_task(run("background", behind))
    await asyncio.sleep(0.05)
    await run("conversation", Generation(SHORT, max_tokens=1))
    await background
    assert order == ["conversation", "background"]


@slow_on_a_cpu
async def test_a_schema_constrains_the_whole_answer(llm: MlxModel) -> None:
    request = Generation(SHORT, max_tokens=30, temperature=1.2, json_schema=SCHEMA)
    text, usage = await collect(llm, request)
    assert usage.generated_tokens < 30
    found = json.loads(text)
    assert found.keys() == {"sure", "mood"}
    assert found["mood"] in {"glad", "sad"}


async def test_an_invalid_schema_is_refused(llm: MlxModel) -> None:
    request = Generation(SHORT, json_schema={"type": "no such type"})
    with pytest.raises(ModelFailed, match="can't be used"):
        await collect(llm, request)


async def test_a_conversation_that_is_too_long_is_refused(llm: MlxModel) -> None:
    huge = [Message("user", "word " * 600)]
    with pytest.raises(ModelFailed, match=r"tokens\) is longer than the model can hold"):
        await collect(llm, Generation(huge))


async def test_a_missing_or_damaged_or_too_large_model_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelMissing, match="no MLX model in"):
        await MlxModel(tmp_path).load()
    with monkeypatch.context() as patch:
        patch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
        with pytest.raises(ModelTooLarge, match="GB is free"):
            await MlxModel(folder).load()
    for name in FILES:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 1000)
    broken = MlxModel(tmp_path)
    with pytest.raises(ModelCorrupt, match="mlx-lm can't load"):
        await broken.load()
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match="no MLX model in"):
        await broken.load()
    await broken.close()


async def test_a_missing_mlx_lm_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "models.llm.mlx_engine", None)
    with pytest.raises(ModelFailed, match="need mlx-lm"):
        await MlxModel(folder).load()


async def test_closing_ends_running_and_waiting_requests(folder: Path) -> None:
    from models.llm.mlx_engine import MlxEngine

    llm = MlxModel(folder, context_tokens=512)
    with pytest.raises(ModelFailed, match="not loaded yet"):
        llm.count("a")
    await llm.load()
    assert isinstance(llm._engine, MlxEngine)
    thread = llm._thread
    assert thread is not None
    running = asyncio.create_task(collect(llm, Generation(WORDS)))
    waiting = asyncio.create_task(collect(llm, Generation(SHORT)))
    await asyncio.sleep(0.05)
    await llm.close()
    for task in (running, waiting):
        with pytest.raises(ModelFailed, match="is closed"):
            await task
    await asyncio.to_thread(thread.join, 30)
    assert not thread.is_alive()
    await llm.close()
