"""Tools of other programs: MCP servers that the user has named in the settings.

All text from a server (names, descriptions, results) is untrusted data. It is limited in length and
cleaned here, and is never part of the conversation's prompt or of a memory.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.tool_servers.candidates import Candidate, ToolIndex, Vectors
    from assistant.tool_servers.servers import ServerReport, ToolServers
    from assistant.tool_servers.tool import Parameter, ParameterKind, Tool, ToolResult, spoken_name
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Candidate",
    "Parameter",
    "ParameterKind",
    "ServerReport",
    "Tool",
    "ToolIndex",
    "ToolResult",
    "ToolServers",
    "Vectors",
    "spoken_name",
]
