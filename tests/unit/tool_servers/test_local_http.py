"""The connection to tool servers at an address, which others start and end."""

import asyncio
from contextlib import ExitStack

import pytest

from assistant.errors import ToolOutcomeUnknown, ToolServerDown
from assistant.tool_server_settings import ToolServer
from assistant.tool_servers.connection import ServerState
from tests.support.http_shelf import serving
from tests.support.tools import connected, tool_of, until


async def test_a_server_that_was_restarted_is_used_again_at_once() -> None:
    with serving() as first:
        settings = ToolServer(url=first.url)
        async with connected(settings, reconnect_s=0) as shelves:
            count = tool_of(shelves.tools, "count_texts")
            assert (await shelves.call(count, {})).text == "There are 1 texts"
            first.session = "another"  # it was restarted, and knows nothing of the connection
            assert (await shelves.call(count, {})).text == "There are 2 texts"
            assert first.connections == 2


async def test_a_server_that_was_away_is_used_again_when_it_is_back() -> None:
    with ExitStack() as running:
        first = running.enter_context(serving())
        settings = ToolServer(url=first.url)
        async with connected(settings, reconnect_s=0, restart_s=0.05) as shelves:
            count = tool_of(shelves.tools, "count_texts")
            running.close()
            with pytest.raises(ToolServerDown, match="No tool server answers"):
                await shelves.call(count, {})
            assert shelves.tools == ()
            second = running.enter_context(serving(port=first.server_port))
            await until(lambda: shelves.state is ServerState.READY)
            assert not (await shelves.call(count, {})).failed
            assert len(second.calls) == 1


async def test_a_server_is_looked_for_by_calls_only_now_and_then() -> None:
    with serving() as shelf:
        async with connected(ToolServer(url=shelf.url), reconnect_s=600) as shelves:
            count = tool_of(shelves.tools, "count_texts")
            for number in range(3):
                shelf.session = f"restarted {number}"
                with pytest.raises(ToolServerDown, match="has ended"):
                    await shelves.call(count, {})
            assert shelf.connections == 1
            assert shelf.calls == []


async def test_a_restarted_server_whose_tool_is_another_now_is_not_called() -> None:
    with serving("changes") as shelf:
        async with connected(ToolServer(url=shelf.url), reconnect_s=0) as shelves:
            keep = tool_of(shelves.tools, "keep_text")
            await shelves.call(keep, {"text": "milk"})
            shelf.session = "another"
            with pytest.raises(ToolServerDown, match="no longer offers"):
                await shelves.call(keep, {"text": "eggs"})
            assert shelf.calls == [{"text": "milk"}]


@pytest.mark.parametrize(
    ("mode", "why"),
    [("floods", "too long"), ("packs", "compressed"), ("breaks", "incomplete")],
)
async def test_an_answer_that_is_too_long_or_broken_ends_the_connection(
    mode: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(mode) as shelf:
        async with connected(ToolServer(url=shelf.url)) as shelves:
            with pytest.raises(ToolOutcomeUnknown, match="was lost during a call"):
                await shelves.call(tool_of(shelves.tools, "count_texts"), {})
            await until(lambda: shelves.state is ServerState.DOWN)
    assert f"an answer from the tool server shelf is {why}" in caplog.text
    assert len(shelf.calls) == 1, "what may have been done is not done again"


@pytest.mark.parametrize("mode", ["babbles", "crashes"])
async def test_after_an_answer_that_says_nothing_what_was_done_is_unknown(mode: str) -> None:
    with serving(mode) as shelf:
        async with connected(ToolServer(url=shelf.url)) as shelves:
            with pytest.raises(ToolOutcomeUnknown, match="didn't understand"):
                await shelves.call(tool_of(shelves.tools, "keep_text"), {"text": "milk"})
            assert shelves.state is ServerState.READY


async def test_a_connection_on_which_a_call_runs_is_not_ended_by_another_call() -> None:
    with serving("waits") as shelf:
        async with connected(ToolServer(url=shelf.url), reconnect_s=0) as shelves:
            keep, count = (tool_of(shelves.tools, each) for each in ("keep_text", "count_texts"))
            first = asyncio.create_task(shelves.call(keep, {"text": "milk"}))
            await until(lambda: len(shelf.calls) == 1)
            shelf.session = "another"
            with pytest.raises(ToolServerDown, match="isn't answering right now"):
                await shelves.call(count, {})
            shelf.released.set()
            assert (await first).text == "The text was kept"
            assert (await shelves.call(count, {})).text == "There are 2 texts"
            assert shelf.connections == 2
