"""A real tool server that speaks HTTP on this machine, and whose tools change when asked to.

python http_tool_server.py PORT
"""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("adder")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add_numbers(first: int, second: int) -> str:
    """Adds two numbers."""
    return f"The sum is {first + second}"


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
