"""Sends a call to a tool server, and reads the answer.

Once a call has been sent, the tool may have carried it out. An error must not make the user believe
that nothing was done.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assistant.errors import ToolOutcomeUnknown
from assistant.tool_server_settings import Value
from assistant.tool_servers.tool import (
    LONGEST_DESCRIPTION,
    Tool,
    ToolResult,
    one_line,
    read_result,
)

if TYPE_CHECKING:
    from mcp import Client


async def send_call(
    client: "Client",
    tool: Tool,
    arguments: Mapping[str, Value | list[str]],
    is_lost: Callable[[], bool],
) -> ToolResult:
    """Send a call, and wait for its result without a time limit.

    Args:
        is_lost: returns whether the connection is lost.

    Raises:
        ToolOutcomeUnknown: the connection was lost, or the answer can't be understood.
    """
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        answer = await client.call_tool(tool.name, {**tool.fixed, **arguments})
    except TimeoutError:
        raise
    except MCPError as error:
        if is_lost() or error.code == CONNECTION_CLOSED:
            text = f"The connection to the tool server {tool.server} was lost during a call."
            raise ToolOutcomeUnknown(text) from error
        if error.code in _unclear():
            raise _not_understood(tool) from error
        return ToolResult(one_line(error.message, LONGEST_DESCRIPTION), failed=True)
    except Exception as error:  # the server's answer is not a result
        raise _not_understood(tool) from error
    texts = [each.text for each in answer.content if each.type == "text"]
    return read_result(texts, answer.structured_content, failed=bool(answer.is_error))


def _unclear() -> set[int]:
    """Return the codes of errors after which a tool may have done something. Most of them are set
    by the library itself, if it gets no answer or an unreadable one."""
    from mcp import types

    return {
        types.REQUEST_TIMEOUT,
        types.PARSE_ERROR,
        types.INVALID_REQUEST,
        types.INTERNAL_ERROR,
    }


def _not_understood(tool: Tool) -> ToolOutcomeUnknown:
    return ToolOutcomeUnknown(f"I didn't understand what the tool server {tool.server} answered.")
