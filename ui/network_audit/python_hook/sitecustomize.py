"""Log every attempt of Python code to connect to another machine or to look up a host name.

Python imports this module when it starts, if the module's folder is on the path. Each attempt adds
one JSON line, with the calling library, to the file named by `NETWORK_AUDIT_LOG`. This module
imports nothing from the project, because every Python process of the watched program runs it.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from types import FrameType

EVENTS = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "socket.sendmsg",
)
"""Audit events of Python's socket module. Their first argument is a socket or a host name."""
LOOPBACK = ("localhost", "::1", "0.0.0.0", "::", "")


def _target(event: str, arguments: tuple[object, ...]) -> str | None:
    """Return the target of an audit event, or None if the target is on this machine."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if not isinstance(address, tuple) or len(address) < 2:
            return None  # a local socket
        host = str(address[0])
        label = f"{host}:{address[1]}"
    else:
        host = arguments[0].decode() if isinstance(arguments[0], bytes) else str(arguments[0] or "")
        label = host
        if host.replace(".", "").isdigit() or ":" in host:
            return None  # the host is an address, so there is no name to look up
    return None if host in LOOPBACK or host.startswith("127.") else label


def _library(frame: FrameType | None) -> str:
    """Return the name of the innermost caller that isn't part of the standard library."""
    own = str(Path(os.__file__).parent)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        for packages in {"site-packages", "dist-packages"}.intersection(path.parts):
            return path.parts[path.parts.index(packages) + 1].partition(".")[0]
        if not str(path).startswith((own, "<frozen")):
            return path.stem
        frame = frame.f_back
    return "Python"


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event not in EVENTS:
        return
    target = _target(event, arguments)
    if target is None:
        return
    row = {
        "target": target,
        "library": _library(sys._getframe(1)),
        "thread": threading.get_native_id(),
        "at": time.monotonic(),
    }
    with Path(os.environ["NETWORK_AUDIT_LOG"]).open("a", encoding="utf-8") as log:
        log.write(f"{json.dumps(row)}\n")


if "NETWORK_AUDIT_LOG" in os.environ:
    sys.addaudithook(_note)
