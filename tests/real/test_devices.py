"""Microphone and loudspeaker on a real sound server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator

import numpy as np
import pytest

from assistant.errors import AudioError, DeviceMissing
from assistant.voice.audio import SoundDevices, find_input, find_output, list_devices
from assistant.voice.audio.echo import WebRtcCanceller
from assistant.voice.audio.interfaces import BLOCK, Loudspeaker, Microphone, dbfs
from assistant.voice.audio.portaudio import reinitialise
from models.interfaces import Samples
from tests.support.patience import PATIENCE_S
from tests.support.pulse import PulseServer, in_environment
from tests.support.voices import voice

pytestmark = [pytest.mark.sound, pytest.mark.alone]

RATE = 22_050
OFFLINE = "import sys, ui.commands.main; sys.exit(ui.commands.main.main(sys.argv[1:]))"


@pytest.fixture
def portaudio(pulse: PulseServer) -> Iterator[None]:
    """Connects this process's PortAudio to the private sound server."""
    with in_environment(pulse.env):
        reinitialise()
        yield


@pytest.fixture
async def sound(portaudio: None) -> AsyncIterator["Sound"]:
    bench = Sound()
    yield bench
    await bench.microphone.close()
    await bench.loudspeaker.close()


class Sound:
    """A microphone and a loudspeaker, with their recorded states and sound."""

    def __init__(self) -> None:
        self.states: list[tuple[str, bool]] = []
        self.blocks: list[Samples] = []
        self.times: list[float] = []
        self.devices = SoundDevices(lambda text, ok: self.states.append((text, ok)))
        self.microphone = self.devices.microphone()
        self.loudspeaker = self.devices.loudspeaker()

    def deliver(self, block: Samples, captured: float) -> None:
        self.blocks.append(block)
        self.times.append(captured)

    def heard(self) -> Samples:
        return np.concatenate(self.blocks) if self.blocks else np.zeros(0, np.int16)

    async def open(self) -> None:
        await self.microphone.open(self.deliver)
        await self.loudspeaker.open(RATE)

    async def play(self, samples: Samples) -> None:
        for offset in range(0, len(samples), RATE // 50):
            await self.loudspeaker.play(samples[offset : offset + RATE // 50])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


def tone(rate: int, seconds: float, hertz: float = 440.0) -> Samples:
    return (8000 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(
        np.int16
    )


def loud(samples: Samples, rate: int) -> float:
    """Seconds of `samples` that are not silence."""
    step = rate // 100
    whole = samples[: len(samples) // step * step].reshape(-1, step)
    return float((np.abs(whole.astype(int)).max(axis=1) > 200).sum()) / 100


def pitch(samples: Samples, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples.astype(float)))
    return float(np.argmax(spectrum)) * rate / len(samples)


async def test_the_microphone_captures_what_is_said(pulse: PulseServer, sound: Sound) -> None:
    microphone: Microphone = sound.microphone
    await microphone.open(sound.deliver)
    await asyncio.to_thread(pulse.speak, tone(16000, 1.0))
    await until(lambda: loud(sound.heard(), 16000) > 0.9)
    await until(lambda: dbfs(sound.blocks[-1]) < -60)

    assert all(len(block) == BLOCK for block in sound.blocks)
    assert (np.diff(sound.times) > -0.05).all()
    heard = sound.heard()
    assert loud(heard, 16000) == pytest.approx(1.0, abs=0.06)
    begin = int(np.flatnonzero(np.abs(heard) > 200)[0])
    assert pitch(heard[begin + 2000 :][:10_000], 16000) == pytest.approx(440, abs=5)
    assert np.abs(heard).max() == pytest.approx(8000, rel=0.05)


async def test_played_sound_is_audible_and_counted(pulse: PulseServer, sound: Sound) -> None:
    loudspeaker: Loudspeaker = sound.loudspeaker
    await loudspeaker.open(RATE)
    capture = pulse.record(RATE)
    samples = tone(RATE, 1.0)
    await sound.play(samples)
    await loudspeaker.drain()
    assert loudspeaker.played() == len(samples)
    await until(lambda: loud(capture.so_far(), RATE) > 0.95)
    recorded = capture.stop()
    assert loud(recorded, RATE) == pytest.approx(1.0, abs=0.03)
    heard = recorded[np.abs(recorded.astype(int)).cumsum() > 200][: RATE // 2]
    assert pitch(heard, RATE) == pytest.approx(440, abs=5)


async def test_flush_stops_the_sound_and_returns_how_much_was_not_played(
    pulse: PulseServer, sound: Sound
) -> None:
    await sound.loudspeaker.open(RATE)
    capture = pulse.record(RATE)
    speaking = asyncio.create_task(sound.play(tone(RATE, 5.0)))
    await until(lambda: sound.loudspeaker.played() > RATE)
    speaking.cancel()
    before = sound.loudspeaker.played()
    dropped = sound.loudspeaker.flush()
    assert dropped <= 0.09 * RATE
    await sound.loudspeaker.drain()
    played = sound.loudspeaker.played()
    assert played - before <= 0.05 * RATE
    await until(lambda: loud(capture.so_far()[-RATE // 5 :], RATE) == 0)
    recorded = capture.stop()
    assert loud(recorded, RATE) == pytest.approx(played / RATE, abs=0.1)


async def test_gain_is_audible(pulse: PulseServer, sound: Sound) -> None:
    await sound.loudspeaker.open(RATE)
    sound.loudspeaker.gain = 0.25
    capture = pulse.record(RATE)
    await sound.play(tone(RATE, 0.4))
    await sound.loudspeaker.drain()
    await until(lambda: loud(capture.so_far(), RATE) > 0.35)
    assert np.abs(capture.stop()).max() == pytest.approx(2000, rel=0.05)


async def test_an_idle_loudspeaker_rests_and_wakes_without_loss(
    pulse: PulseServer, portaudio: None
) -> None:
    devices = SoundDevices(rest_after_s=0.1)
    loudspeaker, calls = devices.loudspeaker(), list[int]()
    loudspeaker.set_reference(lambda samples, rate: calls.append(len(samples)))
    await loudspeaker.open(RATE)
    capture = pulse.record(RATE)
    try:
        for _ in range(2):
            await until(lambda: loudspeaker.resting)
            await devices.calls.run(lambda: None)  # earlier calls have ended
            before = len(calls)
            await asyncio.sleep(0.2)
            assert len(calls) == before
            await loudspeaker.play(tone(RATE, 0.2))
            await loudspeaker.drain()
    finally:
        await loudspeaker.close()
    assert loudspeaker.played() == 2 * int(RATE * 0.2)
    await until(lambda: loud(capture.so_far(), RATE) > 0.37)
    assert loud(capture.stop(), RATE) == pytest.approx(0.4, abs=0.04)


async def test_sound_returns_after_the_sound_server_was_restarted(
    pulse: PulseServer, sound: Sound
) -> None:
    await sound.open()
    await until(lambda: len(sound.blocks) > 10)
    await asyncio.to_thread(pulse.stop)
    await until(lambda: [ok for _, ok in sound.states] == [False])
    assert "not responding" in sound.states[0][0]
    await sound.loudspeaker.play(tone(RATE, 0.05))
    blocks = len(sound.blocks)
    await asyncio.to_thread(pulse.start)
    await until(lambda: len(sound.states) >= 2 and sound.states[-1][1])
    assert "Sound is back" in sound.states[-1][0]

    capture = await asyncio.to_thread(pulse.record, RATE)
    await sound.play(tone(RATE, 0.5))
    await sound.loudspeaker.drain()
    assert sound.loudspeaker.played() == len(tone(RATE, 0.05)) + len(tone(RATE, 0.5))
    await until(lambda: loud(capture.so_far(), RATE) > 0.45)
    capture.stop()
    await until(lambda: len(sound.blocks) > blocks + 10)
    await asyncio.to_thread(pulse.speak, tone(16000, 0.3))
    await until(lambda: loud(np.concatenate(sound.blocks[blocks:]), 16000) > 0.25)


async def test_sound_returns_after_all_devices_were_unplugged(
    pulse: PulseServer, sound: Sound
) -> None:
    await sound.open()
    await until(lambda: len(sound.blocks) > 10)
    await asyncio.to_thread(pulse.unplug, "mic")
    await asyncio.to_thread(pulse.unplug, "speaker")
    await until(lambda: [ok for _, ok in sound.states] == [False])
    await asyncio.to_thread(pulse.replug, "mic")
    await asyncio.to_thread(pulse.replug, "speaker")
    await until(lambda: sound.states[-1][1])
    blocks = len(sound.blocks)
    await asyncio.to_thread(pulse.speak, tone(16000, 0.3))
    await until(lambda: loud(np.concatenate(sound.blocks[blocks:]), 16000) > 0.25)


async def test_sound_moves_to_a_new_default_device(pulse: PulseServer, sound: Sound) -> None:
    await sound.open()
    await until(lambda: len(sound.blocks) > 10)
    await asyncio.to_thread(pulse.unplug, "mic")
    blocks = len(sound.blocks)
    await until(lambda: len(sound.blocks) > blocks + 10)
    await asyncio.to_thread(pulse.replug, "mic")
    await asyncio.to_thread(pulse.speak, tone(16000, 0.3))
    await until(lambda: loud(np.concatenate(sound.blocks[blocks:]), 16000) > 0.25)
    assert sound.states == []


async def test_closing_the_microphone_ends_delivery_at_once(sound: Sound) -> None:
    await sound.open()
    await until(lambda: len(sound.blocks) > 5)
    await sound.microphone.close()
    count = len(sound.blocks)
    await asyncio.sleep(0.1)
    assert len(sound.blocks) == count
    await sound.microphone.close()


async def test_a_listed_device_that_cannot_be_opened_is_reported(
    pulse: PulseServer, portaudio: None
) -> None:
    device = find_input("default")
    await asyncio.to_thread(pulse.stop)  # PortAudio has listed the device, which now refuses
    microphone = SoundDevices().microphone(device.name)
    with pytest.raises(AudioError, match=f'"{device.name}" is not responding') as caught:
        await microphone.open(lambda block, captured: None)
    assert caught.value.mend
    await microphone.close()


async def test_an_unknown_device_is_reported_with_the_known_ones(portaudio: None) -> None:
    assert {device.name for device in list_devices()} >= {"default", "pulse"}
    assert find_output("PULSE").name == "pulse"
    with pytest.raises(DeviceMissing, match=r'no loudspeaker "Studio"; available: .*"pulse"'):
        find_output("Studio")
    microphone = SoundDevices().microphone("Studio")
    with pytest.raises(DeviceMissing, match='no microphone "Studio"'):
        await microphone.open(lambda block, captured: None)


async def test_the_echo_of_the_loudspeaker_is_cancelled_but_a_voice_is_not(
    pulse: PulseServer, sound: Sound
) -> None:
    canceller = WebRtcCanceller()
    cleaned: list[Samples] = []

    def deliver(block: Samples, captured: float) -> None:
        sound.deliver(block, captured)
        cleaned.append(canceller.near(block))

    sound.loudspeaker.set_reference(canceller.far)
    await asyncio.to_thread(pulse.echo, True)
    await sound.microphone.open(deliver)
    await sound.loudspeaker.open(RATE)
    speaking = asyncio.create_task(sound.play(voice(17.0, 1, rate=RATE)))
    await until(lambda: sound.loudspeaker.played() > 3 * RATE)
    alone = len(sound.blocks)
    await until(lambda: sound.loudspeaker.played() > 14 * RATE)
    interrupted = len(sound.blocks)
    await asyncio.to_thread(pulse.speak, voice(1.5, 7, level=0.1))
    said = len(sound.blocks)
    await speaking

    echo = [dbfs(second) for second in seconds(sound.blocks[alone:interrupted])]
    left = [dbfs(second) for second in seconds(cleaned[alone:interrupted])]
    spoken = dbfs(np.concatenate(cleaned[interrupted:said]))
    assert min(echo) > -35
    # On a busy machine the echo's delay jumps, and the canceller takes a second to adapt.
    removed = sorted(before - after for before, after in zip(echo, left, strict=True))
    assert len(removed) >= 9
    assert removed[-1] > 25
    assert removed[len(removed) // 2] > 12
    assert spoken - sorted(left)[len(left) // 2] > 15


def seconds(blocks: list[Samples]) -> list[Samples]:
    return [np.concatenate(blocks[start : start + 50]) for start in range(0, len(blocks) - 49, 50)]


def test_the_command_lists_devices(pulse: PulseServer) -> None:
    command = [sys.executable, "-c", OFFLINE, "devices"]
    table = subprocess.run(command, env=pulse.env, capture_output=True, text=True, check=True)
    assert "pulse" in table.stdout
    assert "default" in table.stdout
    listed = subprocess.run(
        [*command, "--json"], env=pulse.env, capture_output=True, text=True, check=True
    )
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert {row["name"] for row in rows} >= {"pulse", "default"}
    assert [row["name"] for row in rows if row["default_input"]] == ["default"]


def test_the_command_reports_that_there_are_no_devices(pulse: PulseServer) -> None:
    pulse.stop()
    command = [sys.executable, "-c", OFFLINE, "devices"]
    done = subprocess.run(command, env=pulse.env, capture_output=True, text=True, check=True)
    assert "There is no microphone and no loudspeaker" in done.stdout
