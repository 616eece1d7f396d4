"""A model hub on loopback: Hugging Face's `resolve` URLs, with the faults that networks have."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hub:
    """The server's files (path without the endpoint → bytes), behaviour and received requests.

    `cuts` holds, for each of the next responses, the number of bytes after which it breaks off.
    `hang_at` is the number of bytes after which a response blocks until `release` is set.
    """

    files: Mapping[str, bytes]
    url: str = ""
    ranges: bool = True
    declare_length: bool = True
    statuses: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    hang_at: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def hub_server(files: Mapping[str, bytes]) -> Iterator[Hub]:
    hub = Hub(dict(files))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            asked = self.headers.get("Range")
            hub.requests.append((path, asked))
            if hub.statuses or path not in hub.files:
                self.send_error(hub.statuses.pop(0) if hub.statuses else 404)
                return
            content = hub.files[path]
            offset = 0
            if asked and hub.ranges:
                offset = int(asked.removeprefix("bytes=").removesuffix("-"))
                self.send_response(206)
                self.send_header(
                    "Content-Range", f"bytes {offset}-{len(content) - 1}/{len(content)}"
                )
            else:
                self.send_response(200)
            if hub.declare_length:
                self.send_header("Content-Length", str(len(content) - offset))
            self.end_headers()
            self._write(content[offset:])

        def _write(self, body: bytes) -> None:
            self.close_connection = True
            if hub.cuts:
                self.wfile.write(body[: hub.cuts.pop(0)])
            elif hub.hang_at is not None:
                self.wfile.write(body[: hub.hang_at])
                self.wfile.flush()
                hub.release.wait(30)
            else:
                self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Don't log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        hub.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
