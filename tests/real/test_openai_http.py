"""The OpenAI-compatible adapter with llama.cpp's own server, on loopback and with a key."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio

from assistant.errors import ModelFailed
from models.interfaces import Generation, Lane, Message
from models.llm.llama_process import Worker, WorkerConfig
from models.llm.openai_http import OpenAICompatible
from tests.support.language import SCHEMA, STORY, SYSTEM, collect, tiny_gguf

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

CONTEXT = 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[OpenAICompatible]:
    """An adapter that is not loaded yet, for a running server."""
    config = WorkerConfig(str(tiny_gguf()), CONTEXT, 2, 1, 1, 64, unix_socket=False)
    worker = Worker(config)
    await worker.start(60)
    assert worker.address.startswith("http://127.0.0.1:")
    yield OpenAICompatible(f"{worker.address}/v1/", api_key=config.secret)
    await worker.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm(server: OpenAICompatible) -> AsyncIterator[OpenAICompatible]:
    await server.load()
    yield server
    await server.close()


async def test_the_server_reports_its_window_and_its_model(llm: OpenAICompatible) -> None:
    assert llm.context_tokens == CONTEXT
    assert llm.name.endswith(".gguf")


async def test_an_answer_is_streamed_with_its_usage(llm: OpenAICompatible) -> None:
    chunks = [chunk async for chunk in llm.stream(Generation(STORY, max_tokens=12))]
    usage = chunks[-1].usage

    assert len(chunks) > 8
    assert usage is not None
    assert usage.generated_tokens == 12
    assert usage.prompt_tokens == llm.count_messages(STORY)
    assert llm.count("A lighthouse keeper") == 3


async def test_each_lane_keeps_its_cache(llm: OpenAICompatible) -> None:
    answer, _ = await collect(llm, Generation(STORY, max_tokens=10))
    other = Generation([Message("user", "List colours.")], max_tokens=3, lane=Lane.BACKGROUND)
    await collect(llm, other)
    longer = [*STORY, Message("assistant", answer), Message("user", "And then?")]
    text, read = await collect(llm, Generation(longer, max_tokens=0))
    _, again = await collect(llm, Generation(longer, max_tokens=2))

    assert text == ""
    assert read.cached_tokens >= llm.count_messages(STORY) - 1
    assert again.read_tokens <= 2


async def test_closing_a_stream_stops_the_answer_of_the_server(llm: OpenAICompatible) -> None:
    async with aclosing(llm.stream(Generation(STORY, max_tokens=900))) as chunks:
        async for _ in chunks:
            break
    # The lane's one slot is free again, hundreds of tokens early.
    _, usage = await collect(llm, Generation(STORY, max_tokens=1))

    assert usage.generated_tokens == 1


async def test_a_schema_constrains_the_answer(llm: OpenAICompatible) -> None:
    request = Generation(STORY, max_tokens=120, temperature=1.2, json_schema=SCHEMA)
    text, _ = await collect(llm, request)

    assert json.loads(text).keys() == {"mood", "count", "sure"}


async def test_a_conversation_that_is_too_long_is_refused(llm: OpenAICompatible) -> None:
    huge = [SYSTEM, Message("user", "word " * 3000)]

    with pytest.raises(ModelFailed, match=r"refused the request.*exceeds"):
        await collect(llm, Generation(huge))


async def test_a_wrong_key_is_refused(llm: OpenAICompatible) -> None:
    stranger = OpenAICompatible(llm.endpoint, llm.name, api_key="wrong")
    with pytest.raises(ModelFailed, match=r"127\.0\.0\.1.* refuses the API key"):
        await collect(stranger, Generation(STORY))
    await stranger.close()


async def test_a_lost_connection_to_the_server_is_reported() -> None:
    config = WorkerConfig(str(tiny_gguf()), CONTEXT, 2, 1, 1, 64, unix_socket=False)
    worker = Worker(config)
    await worker.start(60)
    llm = OpenAICompatible(f"{worker.address}/v1", api_key=config.secret)
    await llm.load()

    async def read() -> None:
        async for chunk in llm.stream(Generation(STORY, max_tokens=900)):
            if chunk.text:
                await worker.stop()

    try:
        with pytest.raises(ModelFailed, match=r"The connection to http://127\.0\.0\.1.* was lost"):
            await asyncio.wait_for(read(), 30)
        assert llm.count("a word or two") == 4, "without a server, tokens are estimated"
        with pytest.raises(ModelFailed, match=r"No server answers at http://127\.0\.0\.1"):
            await collect(llm, Generation(STORY))
    finally:
        await llm.close()
