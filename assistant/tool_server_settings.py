"""The settings of a tool server (MCP server), i.e. of one table `[mcp.NAME]`."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Value = str | int | float | bool
"""A value for an argument of a tool."""


class ToolServer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: str | None = None
    """The program to start, such as `uvx`. It runs as long as the assistant does, with your rights:
    it may read your files and use the network."""
    args: tuple[str, ...] = ()
    """Arguments of `command`."""
    env: Mapping[str, str] = {}
    """Environment variables for the program, besides a few that every program needs (PATH, HOME,
    …)."""
    url: str | None = None
    """Address of a server that already runs on this machine, such as http://127.0.0.1:8000/mcp, in
    place of `command`."""
    confirm: Literal["changes", "never", "always"] = "changes"
    """Which tools you are asked about before they run: those that may change something, none, or
    all. The server itself says which of its tools change nothing."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 20
    """Seconds to wait for a tool."""
    defaults: Mapping[str, Value] = {}
    """Arguments that you never want to say, such as the folder that a tool works in. They are
    passed to every tool that takes an argument of that name."""

    @field_validator("url")
    @classmethod
    def _on_this_machine(cls, url: str | None) -> str | None:
        """Reject other machines: the user's words must not leave this one."""
        if url is not None and not _is_local(url):
            raise ValueError("takes an address of this machine, such as http://127.0.0.1:8000/mcp")
        return url

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("takes either a `command` or a `url`")
        return self


def _is_local(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or host is None or parts.username is not None:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name: only this one needs no lookup
        return host == "localhost"
