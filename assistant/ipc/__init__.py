"""Connects other processes of the same user to a running assistant."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.ipc.client import LISTED, RemoteError, Request, Row, send_request
    from assistant.ipc.event_json import event_from_json, event_to_json
    from assistant.ipc.server import RequestServer, Result, run_on_loop
else:
    __getattr__ = exports(__name__)

__all__ = [
    "LISTED",
    "RemoteError",
    "Request",
    "RequestServer",
    "Result",
    "Row",
    "event_from_json",
    "event_to_json",
    "run_on_loop",
    "send_request",
]
