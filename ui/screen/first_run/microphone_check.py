"""Listens to a microphone, to see whether it hears anyone; stores nothing.

Runs in its own process, so that a driver that hangs, crashes or prints doesn't harm the screen.

    ← {"listen": "Built-in"}   {"listen": null}               the system's default
    → {"devices": ["Built-in", …]}
    → {"microphone": "Built-in"}   {"dbfs": -41.5}            a few times a second
    → {"failed": {"message": …, "mend": …}}
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.errors import AssistantError, AudioError
from assistant.ipc import Row
from assistant.paths import Home

Hearing = Literal["waiting", "heard", "silent"]

EVERY_BLOCKS = 4
"""Blocks of 20 ms per reported level."""
NOISE_LEVELS = 6
"""First levels, which are taken for the room's noise."""
RISE_DB = 12.0
"""Speech is at least this much louder than the room, in dB, …"""
LEAST_DBFS = -50.0
"""… and at least this loud, in dBFS."""
SPEECH_LEVELS = 4
"""Levels, about a third of a second: a click is shorter."""
DEAD_DBFS = -85.0
"""dBFS below the noise of any working microphone."""
DEAD_LEVELS = 25


@dataclass(slots=True)
class Judgement:
    """Decides from levels alone whether a microphone hears anyone."""

    levels: list[float] = field(default_factory=list)
    _loud: int = 0

    def hear(self, dbfs: float) -> Hearing:
        """Once heard, it stays so."""
        self.levels.append(dbfs)
        room = min(self.levels[:NOISE_LEVELS])
        if len(self.levels) > NOISE_LEVELS and dbfs > max(room + RISE_DB, LEAST_DBFS):
            self._loud += 1
        if self._loud >= SPEECH_LEVELS:
            return "heard"
        if len(self.levels) >= DEAD_LEVELS and max(self.levels) < DEAD_DBFS:
            return "silent"
        return "waiting"


class MicrophoneCheck:
    """The screen's side. Belongs to the event loop.

    Args:
        tell: receives the process's rows.
    """

    def __init__(self, home: Home, tell: Callable[[Row], None]) -> None:
        self._home = home
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def listen(self, microphone: str | None) -> None:
        """Listen to this microphone; None is the system's default."""
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *(
                        sys.executable,
                        "-m",
                        "ui.screen.first_run.microphone_check",
                        str(self._home.root),
                    ),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                self._tell({"failed": {"message": f"It can't be tested: {error.strerror}."}})
                return
            self._reading = asyncio.create_task(self._read(self._process))
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps({"listen": microphone}).encode() + b"\n")

    async def close(self) -> None:
        """Afterwards the device is free. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._reading is not None:
            await self._reading

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if line.endswith(b"\n") and self._process is process:
                self._tell(json.loads(line))
        await process.wait()
        if self._process is process:  # nobody closed it
            self._process = None
            self._tell({"failed": {"message": "The sound system failed during the test."}})


# -- the process ----------------------------------------------------------------------------------


def main() -> None:
    """Run until the input ends."""
    from ui.process.logs import redirected_output

    with redirected_output(Home(Path(sys.argv[1]))) as out:

        def tell(row: Row) -> None:
            with suppress(BrokenPipeError):
                out.write(json.dumps(row) + "\n")
                out.flush()

        asyncio.run(_serve(tell))
        os._exit(0)


async def _serve(tell: Callable[[Row], None]) -> None:
    from assistant.voice.audio import list_devices

    loop = asyncio.get_running_loop()
    asked: asyncio.Queue[Row | None] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(asked.put_nowait, json.loads(line))
        os._exit(0)  # the other side has gone; a driver may hang

    threading.Thread(target=read, name="asked", daemon=True).start()
    try:
        devices = await asyncio.to_thread(list_devices)
        tell({"devices": list(dict.fromkeys(each.name for each in devices if each.inputs))})
    except AudioError as error:
        tell(_failed(error))
        return
    listening: asyncio.Task[None] | None = None
    while (row := await asked.get()) is not None:
        if listening is not None:
            listening.cancel()
            await asyncio.wait({listening})
        listening = asyncio.create_task(_listen(row["listen"], tell))


async def _listen(wanted: str | None, tell: Callable[[Row], None]) -> None:
    import numpy as np

    from assistant.voice.audio import SoundDevices, dbfs
    from models.interfaces import Samples

    blocks: list[Samples] = []

    def deliver(block: Samples, _captured: float) -> None:
        blocks.append(block)
        if len(blocks) == EVERY_BLOCKS:
            tell({"dbfs": round(dbfs(np.concatenate(blocks)), 1)})
            blocks.clear()

    microphone = SoundDevices().microphone(wanted)
    try:
        await microphone.open(deliver)
        tell({"microphone": microphone.name})
        await asyncio.Event().wait()
    except AssistantError as error:
        tell(_failed(error))
    finally:
        await microphone.close()


def _failed(error: AssistantError) -> Row:
    return {"failed": {"message": str(error), "mend": error.mend}}


if __name__ == "__main__":
    main()
