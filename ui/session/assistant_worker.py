"""Run the assistant in a separate process, which writes events and reads commands as JSON lines.

In one process, drawing the screen would delay the sound. The lines are (← input, → output):

    ← {"home": …, "key": …, "settings": {…}, "plan": {…}}   once
    ← {"do": "mute"}   {"say": "hello"}
    → {"at": "2026-11-22T…", "event": {"type": …}}
    → {"failed": {"message": …, "mend": …, "exit_code": …}}

The process ends when its standard input is closed.
"""

import asyncio
import json
import logging
import os
import queue
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn, TextIO

from assistant.encryption import HomeLock, MasterKey, Vault
from assistant.errors import AssistantError
from assistant.event_bus import EventBus
from assistant.events import Event, MicrophoneLevel, Notice, Severity, UserSensed
from assistant.ipc import Row, event_to_json
from assistant.paths import Home
from ui.process.console import UnexpectedError
from ui.process.imports import imports_for_good
from ui.process.logs import logs_in, redirected_output
from ui.process.scheduling import use_default_scheduling
from ui.session.assistant_process import StartRequest

if TYPE_CHECKING:
    from assistant.app import Assistant

logger = logging.getLogger(__name__)

Commands = asyncio.Queue[Row | None]
"""Commands from the screen. None ends the session."""

WAITING = 100
"""Number of unwritten lines above which microphone levels are skipped."""
CLOSING_S = 2.0


class EventWriter:
    """Writes lines on a separate thread, so that a slow reader doesn't block the assistant."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="outbox", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Write an event. Microphone levels are skipped if many lines are unwritten."""
        if isinstance(event, UserSensed):  # used only in this process
            return
        if isinstance(event, MicrophoneLevel) and self._lines.qsize() > WAITING:
            return
        self.send({"at": datetime.now(UTC).isoformat(), "event": event_to_json(event)})

    def send(self, row: Row) -> None:
        self._lines.put(json.dumps(row, ensure_ascii=False))

    def close(self) -> None:
        """Wait until all lines are written or the reader has closed the pipe.

        Gives up after CLOSING_S seconds.
        """
        self._lines.put(None)
        self._thread.join(CLOSING_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._out.write(f"{line}\n")
                self._out.flush()
            except (BrokenPipeError, ValueError):
                return  # the screen has closed both pipes, so the input has ended, too


def main() -> None:
    """Run the assistant until standard input is closed, then exit the process."""
    use_default_scheduling()
    order = StartRequest.model_validate_json(sys.stdin.buffer.readline())
    home = Home(order.home)
    with logs_in(home), redirected_output(home) as out:
        asyncio.run(_run(order, home, EventWriter(out)))


async def _run(order: StartRequest, home: Home, outbox: EventWriter) -> NoReturn:
    code = 0
    try:
        await _serve(order, home, outbox)
    except Exception as error:
        logger.error("the assistant ended", exc_info=error)
        reason = error if isinstance(error, AssistantError) else UnexpectedError(error, home.log)
        code = reason.exit_code
        failed = {"message": str(reason), "mend": reason.mend, "exit_code": code}
        outbox.send({"failed": failed})
    outbox.close()
    # Exit at once: the event loop would wait for tasks that never end, and for threads that are
    # still running a model.
    os._exit(code)


async def _serve(order: StartRequest, home: Home, outbox: EventWriter) -> None:
    """Run the session until standard input is closed.

    Raises:
        AssistantError: the session can't be opened.
    """
    bus = EventBus()
    bus.subscribe(outbox.tell)
    commands: Commands = asyncio.Queue()
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    imported = threading.Event()

    def read() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(commands.put_nowait, json.loads(line))
        if not imported.is_set():
            os._exit(0)  # no file is open yet, and imports still block the event loop
        loop.call_soon_threadsafe(gone.set)

    threading.Thread(target=read, name="commands", daemon=True).start()
    session = asyncio.create_task(_session(order, home, bus, commands, imported))
    waiting = asyncio.create_task(gone.wait())
    await asyncio.wait({session, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not session.done():
        session.cancel()
        await asyncio.wait({session}, timeout=CLOSING_S)
    if session.done() and not session.cancelled():
        session.result()


async def _session(
    order: StartRequest, home: Home, bus: EventBus, commands: Commands, imported: threading.Event
) -> None:
    # This imports pipecat, which writes to the log while it is imported.
    with imports_for_good():
        from assistant.app import open_assistant

    imported.set()
    key = MasterKey(bytes.fromhex(order.key)) if order.key is not None else None
    vault = Vault(key, HomeLock(home, alone=False))
    async with open_assistant(home, order.settings, order.plan, bus, vault) as assistant:
        playing = asyncio.create_task(assistant.recordings_ended())
        try:
            while (row := await commands.get()) is not None:
                await _obey(assistant, row, bus)
        finally:
            playing.cancel()


async def _obey(assistant: "Assistant", row: Row, bus: EventBus) -> None:
    try:
        if "say" in row:
            await assistant.say(row["say"])
        else:
            await assistant.command(row["do"])
    except AssistantError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))


if __name__ == "__main__":
    main()
