"""An S3-compatible server on loopback, and its address."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from moto.server import ThreadedMotoServer

BUCKET = "memories"


@contextmanager
def object_store() -> Iterator[ThreadedMotoServer]:
    """An empty server with one bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    httpx.post(f"{endpoint(server)}/moto-api/reset").raise_for_status()
    httpx.put(f"{endpoint(server)}/{BUCKET}").raise_for_status()
    try:
        yield server
    finally:
        server.stop()


def endpoint(server: ThreadedMotoServer) -> str:
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"
