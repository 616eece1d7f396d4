"""An OpenAI-compatible model server on loopback, whose answers a test decides."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted"


@contextmanager
def model_server(answer: Callable[[str], str]) -> Iterator[str]:
    """Serve a model that answers the newest message, which contains the recalled memories and what
    the user said. Yields the endpoint's URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith("/models"):
                self._send("application/json", json.dumps({"data": [{"id": MODEL}]}))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.path.endswith("/chat/completions"):
                self.send_error(404)  # what only llama-server has
                return
            request = json.loads(body)
            newest = request["messages"][-1]["content"]
            reads_ahead = request["max_tokens"] == 1
            words = ["."] if reads_ahead else answer(newest).split(" ")
            pieces = [words[0], *(f" {word}" for word in words[1:])]
            events = [_event({"content": piece}) for piece in pieces]
            self._send("text/event-stream", "".join([*events, _event({}, "stop")]))

        def _send(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Don't log requests."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Don't report a client that no longer wants its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _event(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"
