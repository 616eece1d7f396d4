"""Sound devices controlled by a test, which replace `AudioProbeProcess`."""

import asyncio
from collections.abc import AsyncGenerator

from assistant.errors import AudioError
from assistant.voice.audio.portaudio import Device

BUILT_IN = Device(0, "Built-in", "ALSA", 2, 2, True, True, 48_000)
HEADSET = Device(1, "Headset", "ALSA", 1, 2, False, False, 16_000)
SCREEN = Device(2, "HDMI", "ALSA", 0, 2, False, False, 48_000)


class FakeSound:
    """Records which devices were opened for listening, closed again, and played on."""

    def __init__(self, *devices: Device) -> None:
        self.there = list(devices)
        self.listened: list[str] = []
        self.left: list[str] = []
        self.played: list[str] = []
        self.opens = asyncio.Event()
        self.opens.set()
        self.level_dbfs = -12.0
        self.levels_given = 0
        self.broken: AudioError | None = None

    async def devices(self) -> list[Device]:
        return list(self.there)

    async def levels(self, device: Device) -> AsyncGenerator[float, None]:
        self.listened.append(device.name)
        try:
            if self.broken:
                raise self.broken
            await self.opens.wait()
            while True:
                yield self.level_dbfs
                self.levels_given += 1
                await asyncio.sleep(0.02)
        finally:
            self.left.append(device.name)

    async def tone(self, device: Device) -> None:
        self.played.append(device.name)
        if self.broken:
            raise self.broken
