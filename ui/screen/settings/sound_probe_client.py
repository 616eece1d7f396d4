"""Query the sound devices through `ui.screen.settings.sound_probe` without blocking the event
loop."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from assistant.errors import AudioError
from assistant.voice.audio import Device, DeviceKind, choose_device

ANSWER_S = 15.0
"""Seconds to wait for each line of an answer before the sound system counts as hanging."""


class AudioProbe(Protocol):
    """Queries the sound devices for a screen."""

    async def devices(self) -> list[Device]:
        """Return all devices that are connected.

        Raises:
            AudioError: the sound system fails or doesn't answer.
        """

    def levels(self, device: Device) -> AsyncGenerator[float, None]:
        """Yield the level of a microphone in dBFS, about ten times a second.

        The generator ends when the microphone stops. Closing the generator closes the microphone.

        Raises:
            AudioError: the microphone is missing, is in use or delivers no sound.
        """

    async def tone(self, device: Device) -> None:
        """Play a test tone, and wait until it has been played.

        Raises:
            AudioError: the loudspeaker is missing, is in use or plays nothing.
        """


class AudioProbeProcess:
    """Queries the sound devices of this machine, using one process per query.

    Args:
        environment: environment variables of these processes. Default: those of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment

    async def devices(self) -> list[Device]:
        async with aclosing(self._ask("list")) as answers:
            async for row in answers:
                return [Device(**each) for each in row["devices"]]
        return []

    async def levels(self, device: Device) -> AsyncGenerator[float, None]:
        async with aclosing(self._ask("meter", str(device.index), device.name)) as answers:
            async for row in answers:
                yield row["dbfs"]

    async def tone(self, device: Device) -> None:
        async with aclosing(self._ask("tone", str(device.index), device.name)) as answers:
            async for _ in answers:
                pass

    async def _ask(self, *words: str) -> AsyncGenerator[dict[str, Any], None]:
        """Start a process for a query and yield the rows of its answer.

        Closing the generator ends the process.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ui.screen.settings.sound_probe", *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=None if self._environment is None else dict(self._environment),
                start_new_session=True,
            )
        except OSError as error:
            raise AudioError(f"The sound system can't be queried: {error.strerror}.") from error
        assert process.stdout is not None
        answered = False
        try:
            while line := await _line(process.stdout):
                row, answered = json.loads(line), True
                if "failed" in row:
                    raise AudioError(row["failed"]["message"], mend=row["failed"]["mend"])
                yield row
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        if not answered:
            raise AudioError(f"The sound system failed (code {process.returncode}).")


async def _line(out: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(ANSWER_S):
            return await out.readline()
    except TimeoutError as error:
        raise AudioError("The sound system is not responding.", mend="assistant doctor") from error


def name_for(devices: list[Device], kind: DeviceKind, device: Device) -> str:
    """Return the text that identifies a device in the settings.

    This is the device's name, which doesn't change when other devices are plugged in. If a search
    for the name would find a different device, this is the device's index instead.
    """
    found = choose_device(devices, kind, device.name)
    return device.name if found.index == device.index else str(device.index)
