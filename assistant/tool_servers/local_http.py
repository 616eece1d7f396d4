"""Connects to a tool server that already runs on this machine, over HTTP."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from assistant.tool_servers.child_process import LONGEST_MESSAGE

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

logger = logging.getLogger(__name__)

CONNECT_S = 10.0
READ_S = 600.0
"""Maximum number of seconds between two parts of an answer. No tool may take longer. Each call has
a deadline of its own."""
EVENTS = "text/event-stream"
"""Content type of answers that are streams. The library limits the length of their messages."""


class LocalServer:
    """The connection to a tool server on this machine. It belongs to one event loop.

    Args:
        name: the server's name, for the log.
    """

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url
        self.ended = asyncio.Event()
        """Set when the server can't be reached any more, or has sent something that can't be
        understood."""

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator["TransportStreams"]:
        """Yield the streams of messages to and from the server.

        Proxies from the environment are not used, and redirects are not followed, so that the
        user's words stay on this machine.
        """
        limits = httpx2.Timeout(CONNECT_S, read=READ_S)
        plain = {"Accept-Encoding": "identity"}  # so that the limit on lengths holds
        async with (
            httpx2.AsyncClient(
                transport=_Transport(self._fail),
                headers=plain,
                trust_env=False,
                follow_redirects=False,
                timeout=limits,
            ) as http,
            streamable_http_client(
                self._url, http_client=http, max_sse_event_size=LONGEST_MESSAGE
            ) as streams,
        ):
            yield streams

    def _fail(self, why: str) -> None:
        logger.warning("an answer from the tool server %s is %s", self._name, why)
        self.ended.set()


class _Transport(httpx2.AsyncHTTPTransport):
    """Turns failed connections and compressed answers into answers that the library can handle, and
    limits the length of answers that are not streams.

    Args:
        fail: called with the fault of an answer, e.g. "compressed".
    """

    def __init__(self, fail: Callable[[str], object]) -> None:
        super().__init__(trust_env=False)
        self._fail = fail

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            self._fail(f"missing: {type(error).__name__}")
            return httpx2.Response(503)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            self._fail("compressed")
            await response.aclose()
            return httpx2.Response(503)
        if not response.headers.get("Content-Type", "").lower().startswith(EVENTS):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream, self._fail)
        return response


class _Bounded(httpx2.AsyncByteStream):
    """An answer that fails when it is longer than `LONGEST_MESSAGE`, or ends too early."""

    def __init__(self, stream: httpx2.AsyncByteStream, fail: Callable[[str], object]) -> None:
        self._stream = stream
        self._fail = fail

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LONGEST_MESSAGE
        try:
            async for part in self._stream:
                left -= len(part)
                if left < 0:
                    self._fail("too long")
                    raise httpx2.StreamError("The answer is too long.")
                yield part
        except httpx2.TransportError as error:
            self._fail(f"incomplete: {type(error).__name__}")
            raise httpx2.StreamError("The answer is incomplete.") from error

    async def aclose(self) -> None:
        await self._stream.aclose()
