"""Connects to a tool server that already runs on this machine, over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_S = 10.0
READ_S = 600.0
"""Seconds between two parts of an answer. It is longer than any tool may take; the calls themselves
have deadlines of their own."""


@asynccontextmanager
async def http_streams(url: str) -> AsyncGenerator["TransportStreams"]:
    """Yield the streams of messages to and from a server on this machine.

    Proxies from the environment are not used, and redirects to other machines are not followed:
    what is said stays here.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    limits = httpx2.Timeout(CONNECT_S, read=READ_S)
    async with (
        httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=limits) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams
