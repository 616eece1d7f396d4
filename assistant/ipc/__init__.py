"""How other processes of the same user talk to a running assistant."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.ipc.client import send_request
    from assistant.ipc.event_json import event_from_json, event_to_json
    from assistant.ipc.loop_bridge import Result, run_on_loop
    from assistant.ipc.messages import LISTED, Request, Row
    from assistant.ipc.server import RequestServer
else:
    __getattr__ = exports(__name__)

__all__ = [
    "LISTED",
    "Request",
    "RequestServer",
    "Result",
    "Row",
    "event_from_json",
    "event_to_json",
    "run_on_loop",
    "send_request",
]
