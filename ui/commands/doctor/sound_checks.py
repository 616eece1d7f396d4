"""The doctor's sound checks: the devices, the microphone's level, and the echo."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from assistant.errors import AudioError
from assistant.voice.audio import (
    MIC_RATE,
    EchoCanceller,
    SoundDevices,
    WebRtcCanceller,
    dbfs,
    find_input,
    find_output,
    to_int16,
)
from models.interfaces import Samples
from ui.commands.doctor.checks import CheckContext, Finding, bad, good, warning

LISTEN_S = 1.0
FIRST_BLOCK_S = 3.0
"""Maximum seconds to wait for the microphone's first block of audio."""
DEAD_DBFS = -85.0
"""Level in dBFS below which the microphone is considered dead. The noise of a working microphone is
louder: its converter alone has about -70 dBFS."""
CLIPPED = 0.001
"""Share of samples at full scale above which the microphone is considered overdriven."""
RUSTLE_S, RUSTLE_DBFS = 2.5, -24.0
LEARNING_S = 1.0
"""Seconds that the echo canceller gets to learn the room, as at the start of a conversation."""
HEARD_DB = 6.0
"""Minimum rise of the microphone's level, in dB, that counts as an echo of the loudspeaker."""
LEFT_DB = 10.0
"""Maximum level of the remaining echo, in dB above the room's noise. A louder echo may be taken for
speech."""


@dataclass(slots=True)
class Recording:
    """Audio from the microphone, in blocks.

    Attributes:
        canceller: removes the echo from each block; None if echo is not removed.
        began: set when the first block arrives.
        raw: the blocks as recorded.
        cleaned: the blocks without echo; empty if there is no canceller.
    """

    canceller: EchoCanceller | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    raw: list[Samples] = field(default_factory=list)
    cleaned: list[Samples] = field(default_factory=list)

    def deliver(self, block: Samples, _captured: float) -> None:
        self.began.set()
        self.raw.append(block)
        if self.canceller is not None:
            self.cleaned.append(self.canceller.near(block))

    def take(self) -> tuple[Samples, Samples]:
        """Return the audio since the previous call, first as recorded, then without echo."""
        nothing = np.zeros(0, np.int16)
        taken = (np.concatenate([nothing, *self.raw]), np.concatenate([nothing, *self.cleaned]))
        self.raw, self.cleaned = [], []
        return taken


async def check_devices(context: CheckContext) -> Finding:
    """Find the devices that the settings name or the system prefers."""
    audio = context.settings.audio
    microphone = await asyncio.to_thread(find_input, audio.input_device)
    loudspeaker = await asyncio.to_thread(find_output, audio.output_device)
    return good(f'Microphone "{microphone.name}", loudspeaker "{loudspeaker.name}".')


async def check_microphone(context: CheckContext) -> Finding:
    """Record the room for one second, and check the level."""
    recording = Recording()
    async with _listening(context, recording):
        await asyncio.sleep(LISTEN_S)
    raw, _ = recording.take()
    level = dbfs(raw)
    peak = int(np.abs(raw.astype(np.int32)).max())
    clipped = float(np.mean(np.abs(raw.astype(np.int32)) >= 32_700))
    figures = {"dbfs": round(level, 1), "peak": peak, "clipped": round(clipped, 4)}
    if level < DEAD_DBFS:
        return bad(
            "The microphone picks up only silence.",
            "Unmute it, and allow this terminal to use it in the system's privacy settings.",
            **figures,
        )
    if clipped > CLIPPED:
        return warning(
            f"The microphone is overdriven: {100 * clipped:.1f} % of the samples are clipped.",
            "Lower its level in the system's sound settings.",
            **figures,
        )
    return good(f"Background noise: {level:.0f} dBFS.", **figures)


async def check_echo(context: CheckContext) -> Finding:
    """Play a soft noise, and measure how loud its echo is before and after echo cancellation."""
    canceller = WebRtcCanceller()
    recording = Recording(canceller)
    async with _listening(context, recording) as devices:
        loudspeaker = devices.loudspeaker(context.settings.audio.output_device)
        loudspeaker.set_reference(canceller.far)
        await loudspeaker.open(MIC_RATE)
        try:
            await asyncio.sleep(0.5)
            room, _ = recording.take()
            playing = asyncio.create_task(loudspeaker.play(rustle()))
            await asyncio.sleep(LEARNING_S)
            recording.take()
            await asyncio.sleep(RUSTLE_S - LEARNING_S - 0.2)
            back, left = recording.take()
            await playing
        finally:
            await loudspeaker.close()
    return judge_echo(dbfs(room), dbfs(back), dbfs(left))


def judge_echo(room: float, back: float, left: float) -> Finding:
    """Return the finding for three levels in dBFS.

    Args:
        room: level of the room's background noise.
        back: level of the microphone while the noise is played.
        left: level after echo cancellation while the noise is played.
    """
    figures = {
        "room_dbfs": round(room, 1),
        "echo_dbfs": round(back, 1),
        "left_dbfs": round(left, 1),
    }
    if back - room < HEARD_DB:
        return good(
            "The microphone does not hear the loudspeaker (headphones, or the volume is low).",
            **figures,
        )
    text = (
        f"The microphone hears the loudspeaker at {back:.0f} dBFS, {left:.0f} after echo "
        f"cancellation; background noise is {room:.0f}."
    )
    if left - room > LEFT_DB and back - left < 2 * LEFT_DB:
        return bad(
            text,
            "Turn the loudspeaker down, or: assistant config set audio.echo half-duplex",
            **figures,
        )
    return good(text, **figures)


def rustle() -> Samples:
    """Return a noise that resembles speech: its spectrum falls, and it swells four times a
    second."""
    count = int(RUSTLE_S * MIC_RATE)
    spectrum = np.fft.rfft(np.random.default_rng(1).standard_normal(count))
    hertz = np.fft.rfftfreq(count, 1 / MIC_RATE)
    noise = np.fft.irfft(spectrum / np.maximum(hertz, 200.0), count)
    swell = 0.6 + 0.4 * np.sin(2 * np.pi * 4 * np.arange(count) / MIC_RATE)
    sound = noise * swell
    wanted = 32768 * 10 ** (RUSTLE_DBFS / 20)
    return to_int16((sound * (wanted / np.sqrt(np.mean(sound**2)))).astype(np.float32))


@asynccontextmanager
async def _listening(context: CheckContext, recording: Recording) -> AsyncIterator[SoundDevices]:
    """Open the microphone, wait for its first audio, and close it when the `with` block ends.

    Raises:
        AudioError: the microphone can't be opened or delivers nothing.
    """
    devices = SoundDevices()
    microphone = devices.microphone(context.settings.audio.input_device)
    await microphone.open(recording.deliver)
    try:
        await _first_block(recording, microphone.name)
        yield devices
    finally:
        await microphone.close()


async def _first_block(recording: Recording, name: str) -> None:
    try:
        async with asyncio.timeout(FIRST_BLOCK_S):
            await recording.began.wait()
    except TimeoutError as error:
        raise AudioError(
            f'No sound arrives from the microphone "{name}".', mend="assistant devices"
        ) from error
    recording.take()
