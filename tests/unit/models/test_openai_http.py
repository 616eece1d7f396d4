"""The OpenAI-compatible adapter against servers that misbehave.

tests/real/test_openai_http.py uses the real server of llama.cpp.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from assistant.errors import ModelFailed
from models.interfaces import Chunk, Generation, Lane, LanguageModel, Message, Usage
from models.llm.openai_http import OpenAICompatible
from tests.support.small_models import closed_port

HELLO = [Message("user", "Hello.")]
MODELS = {"data": [{"id": "good"}, {"id": "other:latest"}]}

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def event(text: str | None = None, **more: Any) -> str:
    choice = {"delta": {"content": text}, "finish_reason": more.pop("finish", None)}
    return f"data: {json.dumps({'choices': [choice], **more})}\n\n"


DONE = event(finish="stop") + "data: [DONE]\n\n"
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}


class ScriptedServer:
    """Lists two models, records the requests, and gives the prepared answer to each."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.status = "200 OK"
        self.models: tuple[str, dict[str, Any]] = ("200 OK", MODELS)
        self.body = event("Hi") + event(" you") + DONE
        self.then: Answer | None = None
        self.closed = asyncio.Event()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (
                int(row.split(":")[1])
                for row in head.lower().splitlines()
                if "content-length" in row
            ),
            0,
        )
        sent = await reader.readexactly(length)
        self.headers.append(head)
        if "/chat/completions" in head:
            self.requests.append(json.loads(sent))
            self._write(writer, self.status, self.body)
            if self.then is not None:
                await self.then(reader, writer)
        elif "/models" in head:
            self._write(writer, self.models[0], json.dumps(self.models[1]))
        else:
            self._write(writer, "404 Not Found", "{}")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    @staticmethod
    def _write(writer: asyncio.StreamWriter, status: str, body: str) -> None:
        writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}".encode())


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    listening = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.port = listening.sockets[0].getsockname()[1]
    yield scripted
    listening.close()
    await listening.wait_closed()


@asynccontextmanager
async def loaded(server: ScriptedServer, **arguments: Any) -> AsyncIterator[OpenAICompatible]:
    llm = OpenAICompatible(server.endpoint, **{"model": "good"} | arguments)
    await llm.load()
    try:
        yield llm
    finally:
        await llm.close()


async def chunks(llm: LanguageModel, **request: Any) -> list[Chunk]:
    return [chunk async for chunk in llm.stream(Generation(HELLO, **request))]


async def test_requests_and_answers_have_the_common_form(server: ScriptedServer) -> None:
    server.body = event("Hi") + event(" you") + event(finish="stop", usage=USAGE) + DONE
    schema = {"type": "object"}
    async with loaded(server, api_key="secret") as llm:
        request = {"max_tokens": 7, "temperature": 0.5, "json_schema": schema}
        answer = await chunks(llm, **request, lane=Lane.BACKGROUND)

    assert answer == [Chunk("Hi"), Chunk(" you"), Chunk("", Usage(4, 5, 2))]
    assert all("authorization: bearer secret" in head.lower() for head in server.headers)
    assert server.requests == [
        {
            "model": "good",
            "messages": [{"role": "user", "content": "Hello."}],
            "max_tokens": 7,
            "temperature": 0.5,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
        }
    ]


async def test_tokens_are_estimated_if_the_endpoint_cannot_count(server: ScriptedServer) -> None:
    async with loaded(server, context_tokens=4096) as llm:
        assert llm.context_tokens == 4096
        assert llm.count("") == 0
        assert 180 <= llm.count("The keeper lit the lamp every evening. " * 20) <= 240
        assert llm.count_messages(HELLO) > llm.count("Hello.")
        usage = (await chunks(llm))[-1].usage

        assert usage == Usage(llm.count_messages(HELLO), 0, 2)


async def test_reading_ahead_requests_one_token_and_drops_it(server: ScriptedServer) -> None:
    async with loaded(server) as llm:
        answer = await chunks(llm, max_tokens=0)

    assert [chunk.text for chunk in answer] == [""]
    assert server.requests[0]["max_tokens"] == 1


async def test_a_remote_service_is_not_asked_to_read_ahead(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAICompatible, "_is_here", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with loaded(server) as llm:
        assert await chunks(llm, max_tokens=0) == [Chunk("", Usage(0, 0, 0))]

    assert server.requests == []


@pytest.mark.parametrize(
    ("endpoint", "here"),
    [
        ("http://127.0.0.1:1234/v1", True),
        ("http://localhost:1234/v1", True),
        ("http://[::1]:1234/v1", True),
        ("http://192.168.1.7:1234/v1", False),
        ("https://models.example.org/v1", False),
    ],
)
def test_an_endpoint_on_this_machine_is_recognised(endpoint: str, here: bool) -> None:
    assert OpenAICompatible(endpoint)._is_here is here


async def test_the_first_model_is_taken_when_none_is_named(server: ScriptedServer) -> None:
    async with loaded(server, model="default") as llm:
        assert llm.name == "good"
    async with loaded(server, model="other") as llm:
        assert llm.name == "other"
    with pytest.raises(ModelFailed, match=r"/v1 has no model bad; it has good, other:latest\."):
        async with loaded(server, model="bad"):
            pass


async def test_a_server_may_lack_a_list_of_models(server: ScriptedServer) -> None:
    server.models = ("404 Not Found", {})
    async with loaded(server, model="any") as llm:
        assert len(await chunks(llm)) == 3


async def test_an_endpoint_that_does_not_answer_is_reported() -> None:
    llm = OpenAICompatible(f"http://127.0.0.1:{closed_port()}/v1")
    with pytest.raises(
        ModelFailed, match=r"No server answers at http://127\.0\.0\.1:\d+/v1\."
    ) as caught:
        await llm.load()
    assert caught.value.mend
    with pytest.raises(ModelFailed, match="No server answers"):
        await chunks(llm)
    await llm.close()


@pytest.mark.parametrize("endpoint", ["127.0.0.1:1234/v1", "ftp://127.0.0.1/v1", ""])
async def test_an_endpoint_that_is_not_an_address_is_refused(endpoint: str) -> None:
    with pytest.raises(ModelFailed, match="is not the address of a model server"):
        await OpenAICompatible(endpoint).load()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("401 Unauthorized", "", "/v1 refuses the API key"),
        ("403 Forbidden", "<html>", "/v1 refuses the API key"),
        ("404 Not Found", "{}", "/v1 has no model good"),
        (
            "500 Oops",
            '{"error": "out of memory."}',
            r"refused the request \(500\): out of memory\.",
        ),
        ("400 Bad", '{"error": {"message": "too long"}}', r"\(400\): too long\."),
        ("429 Too Many Requests", "busy", r"\(429\): Too Many Requests\."),
        ("200 OK", event("Hi"), "The connection to .* was lost"),
        ("200 OK", event("Hi") + 'data: {"choi', "The connection to .* was lost"),
        ("200 OK", event("Hi") + 'data: {"error": {"message": "lost"}}\n\n', "was cut short: lost"),
        ("200 OK", "", "The connection to .* was lost"),
    ],
)
async def test_a_failed_request_is_explained_and_the_next_one_works(
    server: ScriptedServer, status: str, body: str, said: str
) -> None:
    server.status, server.body = status, body
    async with loaded(server) as llm:
        with pytest.raises(ModelFailed, match=said):
            await chunks(llm)
        server.status, server.body = "200 OK", event("Hi") + DONE

        assert (await chunks(llm))[0] == Chunk("Hi")


async def test_a_server_that_stops_sending_times_out(server: ScriptedServer) -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    server.body, server.then = event("Hi"), silent
    async with loaded(server, timeout_s=0.2) as llm:
        with pytest.raises(ModelFailed, match=r"did not answer within 0\.2 s"):
            await chunks(llm)


async def test_closing_a_stream_closes_its_connection(server: ScriptedServer) -> None:
    async def until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await writer.drain()
        assert await reader.read() == b""
        server.closed.set()

    server.body, server.then = event("Hi"), until_closed
    async with loaded(server) as llm:
        stream = llm.stream(Generation(HELLO))
        assert await anext(stream) == Chunk("Hi")
        assert not server.closed.is_set()
        await stream.aclose()
        await asyncio.wait_for(server.closed.wait(), 10)
