"""A process that is full of memories, and answers for them at the door of its home.

    python -m scripts.bench.screen.memories_served HOME ROWS

Prints a line when it is ready, and ends when its input does.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from assistant.compose.memory_requests import MemoryRequests, load_user_memory, profile_encoder
from assistant.ipc.server import RequestServer
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from scripts.bench.filling import USER, fill


def serve(home: Home, rows: int) -> None:
    """Until standard input ends."""
    settings = Settings()
    encoder = profile_encoder(settings)
    encoder.load()
    with TemporaryDirectory() as beside:
        fill(home.memories, Path(beside), rows, encoder)
    table = MemoryTable.open(str(home.memories))
    transcript = Transcript.open(home.transcript)
    memory = load_user_memory(USER, table, encoder, settings, transcript)
    opened = RequestServer(
        home.door, MemoryRequests(memory, transcript, lambda _: memory, settings).answer
    )
    print("ready", flush=True)
    sys.stdin.read()
    opened.close()
    asyncio.run(memory.close())
    transcript.close()
    table.close()


if __name__ == "__main__":
    serve(Home(Path(sys.argv[1])), int(sys.argv[2]))
