"""Query the sound devices in a separate process, one process per query.

PortAudio finds new devices only when it starts, blocks if a driver blocks, and crashes if a driver
crashes. In a separate process, none of this affects the screen. Run as
`python -m ui.screen.settings.sound_probe`:

    sound_probe list           → {"devices": [{"index": 0, "name": …}, …]}
    sound_probe meter 3 NAME   → {"dbfs": -34.2}, about ten times a second
    sound_probe tone 4 NAME    → {"done": true}

If the query fails, the output is {"failed": {"message": …, "mend": …}}. The process ends after its
answer. A `meter` process ends when its output pipe is closed.
"""

import json
import queue
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from assistant.errors import AssistantError, AudioError, DeviceMissing
from assistant.ipc import Row
from assistant.voice.audio import Device, DeviceKind, Opened, dbfs, list_devices, open_stream
from models.interfaces import Samples

BLOCK_S = 0.08
FIRST_BLOCK_S = 3.0
"""Seconds after which an open device that hasn't delivered or played a block counts as failed."""
TONE_HZ = (523.25, 659.25, 783.99)
"""Frequencies of the three notes of the test tone. A broken chord can't be mistaken for
machine noise."""
NOTE_S = 0.3
TONE_DBFS = -20.0
FADE_S = 0.02


def main() -> None:
    try:
        for row in _answer(sys.argv[1:]):
            print(json.dumps(row), flush=True)
    except AssistantError as error:
        print(json.dumps({"failed": {"message": str(error), "mend": error.mend}}), flush=True)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has closed the pipe in order to stop a meter


def _answer(words: list[str]) -> Iterator[Row]:
    match words:
        case ["list"]:
            yield {"devices": [asdict(device) for device in list_devices()]}
        case ["meter", index, name]:
            for level in microphone_levels(_device(int(index), name, "microphone")):
                yield {"dbfs": round(level, 1)}
        case ["tone", index, name]:
            play_tone(_device(int(index), name, "loudspeaker"))
            yield {"done": True}
        case _:
            raise AudioError(f"Unknown query: {' '.join(words)}.")


def _device(index: int, name: str, kind: DeviceKind) -> Device:
    """Find a device by name, and by index if several devices have this name.

    The index alone isn't enough, because it changes when another device is plugged in.
    """
    there = [each for each in list_devices() if each.name == name and each.channels(kind)]
    for each in there:
        if each.index == index:
            return each
    if not there:
        raise DeviceMissing(f'The {kind} "{name}" is gone.', mend="assistant devices")
    return there[0]


@contextmanager
def _streaming(
    device: Device,
    kind: DeviceKind,
    callback: Callable[[Opened], Callable[..., None]],
    ended: Callable[[], None],
) -> Iterator[Opened]:
    """Open a stream at the device's own sample rate, and close it when the `with` block ends.

    Raises:
        AudioError: the device can't be opened, or the `with` block has raised `queue.Empty` because
            the device delivered or played nothing in time.
    """
    opened = open_stream(
        device, kind, device.rate, callback, ended, block_s=BLOCK_S, latency="high"
    )
    try:
        yield opened
    except queue.Empty as error:
        fails = f'The {kind} "{device.name}" plays nothing.'
        if kind == "microphone":
            fails = f'No sound arrives from the microphone "{device.name}".'
        raise AudioError(fails, mend="assistant devices") from error
    finally:
        opened.stream.abort(ignore_errors=True)
        opened.stream.close(ignore_errors=True)


def microphone_levels(device: Device) -> Iterator[float]:
    """Yield the level of a microphone in dBFS, once per block of BLOCK_S seconds.

    Raises:
        AudioError: the microphone can't be opened or delivers nothing.
    """
    blocks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def heard(_: Opened) -> Callable[..., None]:
        return lambda data, _frames, _times, _status: blocks.put(bytes(data))

    with _streaming(device, "microphone", heard, lambda: blocks.put(None)):
        while (block := blocks.get(timeout=FIRST_BLOCK_S)) is not None:
            yield dbfs(np.frombuffer(block, np.int16))


def play_tone(device: Device) -> None:
    """Play the test tone on a loudspeaker, and wait until it has been played.

    Raises:
        AudioError: the loudspeaker can't be opened or plays nothing.
    """
    ended: queue.SimpleQueue[None] = queue.SimpleQueue()
    sound, place = tone(device.rate), 0

    def asked(agreed: Opened) -> Callable[..., None]:
        def render(out: Any, frames: int, _times: Any, _status: Any) -> None:
            nonlocal place
            view = np.frombuffer(out, np.int16).reshape(frames, agreed.channels)
            block = sound[place : place + frames]
            view[: len(block)] = block[:, None]
            view[len(block) :] = 0
            place += frames
            if place > len(sound):
                ended.put(None)

        return render

    with _streaming(device, "loudspeaker", asked, lambda: ended.put(None)) as opened:
        ended.get(timeout=len(sound) / device.rate + FIRST_BLOCK_S)
        time.sleep(float(opened.stream.latency))


def tone(rate: int) -> Samples:
    """Return the samples of three rising notes, mono int16, faded in and out to avoid clicks."""
    count = int(NOTE_S * rate)
    times = np.arange(count) / rate
    fade = np.clip(np.minimum(np.arange(count), np.arange(count)[::-1]) / (FADE_S * rate), 0, 1)
    peak = 32768 * 10 ** (TONE_DBFS / 20) * np.sqrt(2)
    notes = [peak * fade * np.sin(2 * np.pi * hertz * times) for hertz in TONE_HZ]
    return np.concatenate(notes).astype(np.int16)


if __name__ == "__main__":
    main()
