"""Fills a home with memories and serves requests for them on the home's socket.

    python -m scripts.bench.screen.memories_served HOME ROWS

Prints a line when it is ready, and ends when its standard input ends.
"""

import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from assistant.compose.memory import profile_encoder
from assistant.ipc.server import RequestServer
from assistant.memory.service import open_memory
from assistant.paths import Home
from assistant.settings import Settings
from scripts.bench.filling import USER, fill


def serve(home: Home, rows: int) -> None:
    """Serve `rows` memories until standard input ends."""
    settings = Settings()
    encoder = profile_encoder(settings)
    encoder.load()
    with TemporaryDirectory() as beside:
        fill(home.memories, Path(beside), rows, encoder)
    with open_memory(home, settings, None, lambda: encoder, print) as memory:
        memory.session_user = memory.user(USER)
        with closing(RequestServer(home.door, memory.answer)):
            print("ready", flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    serve(Home(Path(sys.argv[1])), int(sys.argv[2]))
