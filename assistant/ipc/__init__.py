"""Connects other processes of the same user to a running assistant."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.ipc.client import (
        LISTED,
        NOT_SERVED,
        RemoteError,
        Request,
        Row,
        is_served,
        send_request,
    )
    from assistant.ipc.event_json import event_from_json, event_to_json
    from assistant.ipc.server import RequestServer, Result, run_on_loop
else:
    __getattr__ = exports(__name__)

__all__ = [
    "LISTED",
    "NOT_SERVED",
    "RemoteError",
    "Request",
    "RequestServer",
    "Result",
    "Row",
    "event_from_json",
    "event_to_json",
    "is_served",
    "run_on_loop",
    "send_request",
]
