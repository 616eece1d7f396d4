"""Measures the screen's longest frames while thousands of memories are scrolled and searched.

The memories are in a separate process, as the assistant's are. The screen draws to a terminal that
only counts its writes. A frame is one round of the screen's event loop in which something was
painted. During a frame, no key is handled.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from textual import events
from textual.drivers.headless_driver import HeadlessDriver

from assistant.errors import StoreError
from assistant.events import MemoriesRead
from assistant.ipc import Request, Row, client
from assistant.paths import Home
from assistant.settings import Settings, load
from ui.screen.app import AssistantScreen
from ui.screen.memory.table import MemoryList as Table
from ui.session.session import Ended, Heard

SIZE = (120, 40)
TICK_S = 0.001
KEY_S = 0.04
"""Time between two keys, as if a key is held down or somebody types fast."""
ROUNDS = 40
WAIT_S = 60.0
USER = "me"
STEP_S = 0.02
SEARCHES = ("where did my sister move", "what does the dog like", "coffee or tea")


class Counting(HeadlessDriver):
    """A terminal that accepts all output without delay, and counts the writes."""

    painted = 0

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        type(self).painted += bool(data)


class VoicelessSession:
    """A session without a voice, whose memories are in another process."""

    live = True

    def __init__(self, home: Home) -> None:
        self._home = home

    async def start(self, hear: Heard, ended: Ended) -> None:
        self.ended = ended
        hear(MemoriesRead(0), datetime.now(UTC))

    def do(self, command: str) -> None:
        """Do nothing, since there is no conversation."""

    def say(self, text: str) -> None:
        """Do nothing, since there is no conversation."""

    async def ask(self, request: Request) -> list[Row]:
        return await asyncio.to_thread(self._asked, {"user": USER, **request})

    async def restart(self, settings: Settings) -> None:
        """Do nothing, since no setting changes."""

    async def close(self) -> None:
        """Do nothing: the caller ends the other process."""

    def _asked(self, request: Request) -> list[Row]:
        answered = client.send_request(self._home.door, request)
        if answered is None:
            raise StoreError("Nothing listens on the home's socket.")
        return list(answered)


class Frames:
    """Milliseconds of each round of the event loop in which something is painted."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self.busy: list[float] = []
        """Processor time of the same rounds, which doesn't depend on other programs."""

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _watch(self) -> None:
        painted, at, worked = Counting.painted, time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(TICK_S)
            now, work = time.perf_counter(), time.thread_time()
            if Counting.painted != painted:
                painted = Counting.painted
                self.taken.append(max(0.0, now - at - TICK_S) * 1e3)
                self.busy.append((work - worked) * 1e3)
            at, worked = now, work

    def told(self) -> dict[str, float]:
        parts = statistics.quantiles(self.taken, n=20, method="inclusive")
        found = {"p50": parts[9], "p95": parts[18], "max": max(self.taken)}
        found["busy_max"] = max(self.busy)
        return {name: round(ms, 1) for name, ms in found.items()} | {"count": len(self.taken)}


def measure(rows: int) -> dict[str, Any]:
    """Measure the frames of scrolling and searching with `rows` memories."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home").create()
        with _served(home, rows):
            gc.freeze()  # as `assistant screen` does
            return asyncio.run(_measured(home, rows))


async def _measured(home: Home, rows: int) -> dict[str, Any]:
    app = AssistantScreen(VoicelessSession(home), home, load(home.settings_file), Counting)
    running = asyncio.create_task(app.run_async(size=SIZE, mouse=False))
    try:
        await _until(lambda: app.is_running and app.screen.is_running)
        await asyncio.sleep(0.5)
        app.simulate_key("2")
        await _until(lambda: app.query_one(Table).total >= rows)
        scroll, search = Frames(), Frames()
        async with scroll.watched():
            await _scroll(app)
        async with search.watched():
            await _search(app)
        return {
            "rows": rows,
            "size": list(SIZE),
            "frames_ms": {"scroll": scroll.told(), "search": search.told()},
        }
    finally:
        app.exit(0)
        await running


async def _scroll(app: AssistantScreen) -> None:
    table = app.query_one(Table)
    for key in ("pagedown", "j", "pageup", "k"):
        for _ in range(ROUNDS):
            app.simulate_key(key)
            await asyncio.sleep(KEY_S)
    for _ in range(ROUNDS):
        table.post_message(events.MouseScrollDown(table, 5, 5, 0, 0, 0, False, False, False))
        await asyncio.sleep(KEY_S)
    for place in range(0, table.total, table.total // ROUNDS):
        table.go(place)
        await asyncio.sleep(KEY_S)
    for key in ("G", "g"):
        app.simulate_key(key)
        await _until(lambda: table.needed() is None)


async def _search(app: AssistantScreen) -> None:
    """Search by recall first, then letter by letter."""
    for _ in range(2):
        for text in SEARCHES:
            app.simulate_key("slash")
            await asyncio.sleep(KEY_S)
            for letter in text:
                app.simulate_key("space" if letter == " " else letter)
                await asyncio.sleep(KEY_S)
            await asyncio.sleep(0.5)
        app.simulate_key("ctrl+t")


async def _until(what: Callable[[], object]) -> None:
    for _ in range(int(WAIT_S / STEP_S)):
        if what():
            return
        await asyncio.sleep(STEP_S)
    raise TimeoutError


@contextmanager
def _served(home: Home, rows: int) -> Iterator[None]:
    """Run a process that has `rows` memories and serves requests for them."""
    server = "scripts.bench.screen.memories_served"
    command = [sys.executable, "-m", server, str(home.root), str(rows)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as serving:
        assert serving.stdout is not None
        if not serving.stdout.readline():
            raise RuntimeError("the memories could not be opened")
        yield
        serving.communicate(timeout=WAIT_S)
