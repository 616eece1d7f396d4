"""The tests' tool server (see `tool_server`) over HTTP, within the test's own process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from assistant.tool_servers.child_process import LONGEST_MESSAGE
from tests.support import tool_server
from tests.support.patience import PATIENCE_S

SESSION = "Mcp-Session-Id"


class HttpShelf(ThreadingHTTPServer):
    """Does what `mode` says:

    changes, orders, …: as in `tool_server`.
    floods: answers calls with a body that is too long.
    packs: says that its answers to calls are compressed.
    breaks: ends its answers to calls in the middle.
    babbles: answers calls with something that is not a message.
    crashes: answers calls with a server's error.
    waits: answers calls only when `released` is set.
    """

    daemon_threads = True

    def __init__(self, mode: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.mode = mode
        self.session = uuid4().hex
        self.connections = 0
        self.calls: list[object] = []
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: HttpShelf

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self._send(202)
        elif message["method"] == "initialize":
            self.server.connections += 1
            self._answer(message, self._greeting(message))
        elif self.headers.get(SESSION) == self.server.session:
            self._answer(message, self._result(message))
        elif SESSION in self.headers:
            self._send(404)
        else:
            error = {"code": -32601, "message": "no such method"}
            self._send(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        self._send(200)

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _greeting(self, message: dict[str, Any]) -> object:
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shelf", "version": "1"},
        }

    def _result(self, message: dict[str, Any]) -> object:
        shelf = self.server
        if message["method"] == "tools/list":
            return {"tools": tool_server.tools(shelf.mode, len(shelf.calls))}
        shelf.calls.append(message["params"]["arguments"])
        return tool_server.result(shelf.mode, message["params"]["name"], len(shelf.calls))

    def _answer(self, message: dict[str, Any], result: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        mode = self.server.mode if message["method"] == "tools/call" else ""
        if mode == "waits":
            self.server.released.wait(PATIENCE_S)
        if mode == "babbles":
            body = "Done!"
        if mode == "floods":
            body += " " * LONGEST_MESSAGE
        more = {"Content-Encoding": "gzip"} if mode == "packs" else {}
        self._send(500 if mode == "crashes" else 200, body, missing=int(mode == "breaks"), **more)

    def _send(self, status: int, body: str = "", missing: int = 0, **more: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body) + missing),
            SESSION: self.server.session,
            **more,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())


@contextmanager
def serving(mode: str = "plain", port: int = 0) -> Iterator[HttpShelf]:
    """A server that runs until the block ends. At the same port, another one can follow."""
    with HttpShelf(mode, port) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
