"""Lets other processes reach a running assistant."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack

from assistant.errors import StoreError
from assistant.ipc import NOT_SERVED, Request, RequestServer, Row, is_served
from assistant.memory import MemoryService
from assistant.paths import Home

logger = logging.getLogger(__name__)

RequestHandler = Callable[[Request], Iterator[Row]]
"""Carries out a request and yields the rows of the answer. Called in one of the server's threads.
May raise AssistantError."""


async def serve_requests(
    home: Home,
    memory: MemoryService | None,
    handlers: Mapping[str, RequestHandler],
    stack: AsyncExitStack,
) -> None:
    """Accept requests from other processes, unless another assistant in this home already does.
    Without a long-term memory, the other processes must handle requests about memories themselves.

    Args:
        handlers: the functions that carry out requests that are not about memories, by the
            request's `act`.
    """

    def answer(request: Request) -> Iterator[Row]:
        handler = handlers.get(str(request.get("act")))
        if handler is not None:
            return handler(request)
        if memory is None or memory.session_user is None:
            return iter([NOT_SERVED])
        return memory.answer(request)

    if await asyncio.to_thread(is_served, home.door):
        logger.info("another assistant in this home answers commands")
        return
    try:
        server = await asyncio.to_thread(RequestServer, home.door, answer)
    except StoreError as error:
        logger.error("commands can't reach this assistant: %s", error)
    else:
        stack.push_async_callback(asyncio.to_thread, server.close)
