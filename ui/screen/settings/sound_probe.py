"""A look at the sound devices in a process of its own, that lives for one question.

PortAudio finds a device that was plugged in only when it starts, blocks for as long as a driver
likes, and takes its process with it when a driver fails: nothing that a screen can live with.
Run as `python -m ui.screen.settings.sound_probe`:

    sound_probe list           → {"devices": [{"index": 0, "name": …}, …]}
    sound_probe meter 3 NAME   → {"dbfs": -34.2}, some ten a second
    sound_probe tone 4 NAME    → {"done": true}

Instead of any of them: {"failed": {"message": …, "mend": …}}. It ends by itself; a meter after
`METER_S`.
"""

import json
import queue
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from assistant.errors import AssistantError, AudioError, DeviceMissing
from assistant.ipc import Row
from assistant.voice.audio import Device, DeviceKind, Opened, dbfs, list_devices, open_stream
from models.interfaces import Samples

METER_S = 30.0
METER_BLOCK_S = 0.08
FIRST_BLOCK_S = 3.0
"""A device that has delivered nothing by then delivers nothing."""
TONE_HZ = (523.25, 659.25, 783.99)
"""One after the other: a chord broken into its notes is told from any noise of the machine."""
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
        sys.stderr.close()  # nobody listens any more; that is how a meter is left


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
            raise AudioError(f"There is no such question: {' '.join(words)}.")


def _device(index: int, name: str, kind: DeviceKind) -> Device:
    """Where it is now: numbers move when something is plugged in."""
    there = [each for each in list_devices() if each.name == name and each.channels(kind)]
    for each in there:
        if each.index == index:
            return each
    if not there:
        raise DeviceMissing(f'The {kind} "{name}" is gone.', mend="assistant devices")
    return there[0]


def microphone_levels(device: Device) -> Iterator[float]:
    """Of a microphone in dBFS, block by block. Raises AudioError."""
    blocks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def heard(_: Opened) -> Callable[..., None]:
        return lambda data, _frames, _times, _status: blocks.put(bytes(data))

    opened = open_stream(
        device,
        "microphone",
        device.rate,
        heard,
        lambda: blocks.put(None),
        block_s=METER_BLOCK_S,
        latency="high",
    )
    try:
        ends, wait = time.monotonic() + METER_S, FIRST_BLOCK_S
        while time.monotonic() < ends:
            block = blocks.get(timeout=wait)
            if block is None:
                break
            yield dbfs(np.frombuffer(block, np.int16))
    except queue.Empty as error:
        raise AudioError(
            f'The microphone "{device.name}" delivers nothing.', mend="assistant devices"
        ) from error
    finally:
        opened.stream.abort(ignore_errors=True)
        opened.stream.close(ignore_errors=True)


def play_tone(device: Device) -> None:
    """To its end, on a loudspeaker. Raises AudioError."""
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

    opened = open_stream(
        device,
        "loudspeaker",
        device.rate,
        asked,
        lambda: ended.put(None),
        block_s=METER_BLOCK_S,
        latency="high",
    )
    try:
        ended.get(timeout=len(sound) / device.rate + FIRST_BLOCK_S)
        time.sleep(float(opened.stream.latency))
    except queue.Empty as error:
        raise AudioError(
            f'The loudspeaker "{device.name}" plays nothing.', mend="assistant devices"
        ) from error
    finally:
        opened.stream.abort(ignore_errors=True)
        opened.stream.close(ignore_errors=True)


def tone(rate: int) -> Samples:
    """Three rising notes, mono int16, faded in and out so that nothing clicks."""
    count = int(NOTE_S * rate)
    times = np.arange(count) / rate
    fade = np.clip(np.minimum(np.arange(count), np.arange(count)[::-1]) / (FADE_S * rate), 0, 1)
    peak = 32768 * 10 ** (TONE_DBFS / 20) * np.sqrt(2)
    notes = [peak * fade * np.sin(2 * np.pi * hertz * times) for hertz in TONE_HZ]
    return np.concatenate(notes).astype(np.int16)


if __name__ == "__main__":
    main()
