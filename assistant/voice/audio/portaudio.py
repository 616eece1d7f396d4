"""A narrow interface to PortAudio: listing devices, opening streams, and a thread for its calls.

PortAudio is loaded on first use. Its calls may block for tenths of a second and are not
thread-safe, so while streams are in use they all run on one `PortAudioThread`.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from assistant.errors import AudioError, DeviceBusy, DeviceMissing

DeviceKind = Literal["microphone", "loudspeaker"]
T = TypeVar("T")

INVALID_RATE, INVALID_CHANNELS, HOST_ERROR = -9997, -9998, -9999
UNAVAILABLE, INVALID_DEVICE, BAD_COMBINATION = -9985, -9996, -9993
"""Values of PaErrorCode in portaudio.h. Under ALSA, UNAVAILABLE means EBUSY, and BAD_COMBINATION
any other refusal."""


@dataclass(frozen=True, slots=True)
class Device:
    """A sound device as PortAudio lists it; `inputs` and `outputs` count channels, `rate` is Hz."""

    index: int
    name: str
    host_api: str
    inputs: int
    outputs: int
    default_input: bool
    default_output: bool
    rate: int

    def channels(self, kind: DeviceKind) -> int:
        return self.inputs if kind == "microphone" else self.outputs

    def is_default(self, kind: DeviceKind) -> bool:
        return self.default_input if kind == "microphone" else self.default_output


def library() -> Any:
    """The `sounddevice` module; initialises PortAudio on first use (0.3 s).

    Raises:
        AudioError: PortAudio is not installed, or fails to start.
    """
    try:
        import sounddevice
    except OSError as error:
        raise AudioError(
            "The sound library PortAudio is not installed.",
            mend="Install it: apt-get install libportaudio2",
        ) from error
    except Exception as error:
        # Its own PortAudioError: a class in the module whose import has just failed.
        raise AudioError(f"The sound library PortAudio failed to start: {error}.") from error
    return sounddevice


def list_devices() -> list[Device]:
    """All devices as PortAudio saw them when it was initialised.

    Raises:
        AudioError: PortAudio is missing or fails.
    """
    sounddevice = library()
    try:
        rows = sounddevice.query_devices()
        apis = sounddevice.query_hostapis()
        default_input, default_output = sounddevice.default.device
    except sounddevice.PortAudioError as error:
        raise AudioError(f"The sound devices can't be listed: {error.args[0]}.") from error
    return [
        Device(
            index=row["index"],
            name=row["name"],
            host_api=apis[row["hostapi"]]["name"],
            inputs=row["max_input_channels"],
            outputs=row["max_output_channels"],
            default_input=row["index"] == default_input,
            default_output=row["index"] == default_output,
            rate=round(row["default_samplerate"]),
        )
        for row in rows
    ]


def find_input(wanted: str | None) -> Device:
    """The microphone with the number `wanted`, or with `wanted` in its name; None: the default.

    Raises:
        DeviceMissing: there is no such microphone; the message lists those that exist.
    """
    return choose_device(list_devices(), "microphone", wanted)


def find_output(wanted: str | None) -> Device:
    """The loudspeaker with the number `wanted`, or with `wanted` in its name; see `find_input`."""
    return choose_device(list_devices(), "loudspeaker", wanted)


def choose_device(devices: list[Device], kind: DeviceKind, wanted: str | None) -> Device:
    """Pick by number, else by exact name, else by part of a name; the default device wins ties."""
    usable = [device for device in devices if device.channels(kind)]
    usable.sort(key=lambda device: not device.is_default(kind))
    if not usable:
        raise DeviceMissing(
            f"No {kind} was found.",
            mend=f"Connect a {kind}, or type instead: assistant talk --text",
        )
    if not wanted:
        return usable[0]
    text = wanted.strip().casefold()
    matches = [device for device in usable if text == str(device.index)]
    matches += [device for device in usable if text == device.name.casefold()]
    matches += [device for device in usable if text in device.name.casefold()]
    if not matches:
        names = ", ".join(f'"{device.name}"' for device in usable)
        raise DeviceMissing(
            f'There is no {kind} "{wanted}"; available: {names}.', mend="assistant devices"
        )
    return matches[0]


@dataclass(frozen=True, slots=True)
class Opened:
    """A running stream, and the rate and channels that the device accepted."""

    stream: Any
    device: Device
    rate: int
    channels: int


def open_stream(
    device: Device,
    kind: DeviceKind,
    rate: int,
    callback: Callable[["Opened"], Callable[..., None]],
    ended: Callable[[], None],
    *,
    block_s: float,
    latency: float | str,
) -> Opened:
    """Open and start an int16 stream at `rate`, or at the device's own rate if it refuses that.

    Args:
        callback: makes PortAudio's callback for the accepted rate and channels.
        ended: called from PortAudio's thread when the stream ends by itself.

    Raises:
        DeviceBusy, DeviceMissing, AudioError.
    """
    sounddevice = library()
    make = sounddevice.RawInputStream
    if kind == "loudspeaker":
        make = sounddevice.RawOutputStream
    refusal: Exception | None = None
    for channels in dict.fromkeys((1, min(2, device.channels(kind)))):
        for hertz in dict.fromkeys((rate, device.rate)):
            agreed = Opened(None, device, hertz, channels)
            try:
                stream = make(
                    samplerate=hertz,
                    blocksize=int(hertz * block_s),
                    device=device.index,
                    channels=channels,
                    dtype="int16",
                    latency=latency,
                    callback=callback(agreed),
                    finished_callback=ended,
                )
            except sounddevice.PortAudioError as error:
                refusal = error
                if _code(error) not in (INVALID_RATE, INVALID_CHANNELS, HOST_ERROR):
                    raise explained(error, kind, device) from error
                continue
            opened = Opened(stream, device, hertz, channels)
            start_stream(opened, kind)
            return opened
    if refusal is None:
        raise DeviceMissing(f"No {kind} was found.")
    raise explained(refusal, kind, device) from refusal


def start_stream(opened: Opened, kind: DeviceKind) -> None:
    """Start an open stream.

    Raises:
        DeviceBusy, DeviceMissing, AudioError: starting failed; the stream is closed.
    """
    try:
        opened.stream.start()
    except library().PortAudioError as error:
        opened.stream.close(ignore_errors=True)
        raise explained(error, kind, opened.device) from error


def explained(error: Exception, kind: DeviceKind, device: Device) -> AudioError:
    """Turn PortAudio's error into an error that the user understands."""
    code = _code(error)
    if code == UNAVAILABLE:
        return DeviceBusy(
            f'The {kind} "{device.name}" is in use by another program.',
            mend="Close the program that uses it, or choose another: assistant devices",
        )
    if code == INVALID_DEVICE:
        return DeviceMissing(f'The {kind} "{device.name}" is gone.', mend="assistant devices")
    if code == BAD_COMBINATION:
        return AudioError(
            f'The {kind} "{device.name}" is not responding.',
            mend="Check that the sound server is running, or choose another: assistant devices",
        )
    reason = str(error.args[0]).rstrip(".") if error.args else "no reason was given"
    if len(error.args) > 2 and error.args[2][2]:
        reason = str(error.args[2][2]).rstrip(".")
    return AudioError(
        f'The {kind} "{device.name}" can\'t be opened: {reason}.', mend="assistant devices"
    )


def _code(error: Exception) -> int:
    return int(error.args[1]) if len(error.args) > 1 else 0


def reinitialise() -> None:
    """Restart PortAudio, which looks for devices only when it starts. Ends all streams.

    Raises:
        AudioError: PortAudio does not start again.
    """
    sounddevice = library()
    # An earlier attempt that failed between these two calls may have terminated it already.
    with contextlib.suppress(sounddevice.PortAudioError):
        sounddevice._terminate()
    try:
        sounddevice._initialize()
    except sounddevice.PortAudioError as error:
        raise AudioError(f"The sound system is not responding: {error.args[0]}.") from error


class PortAudioThread:
    """Runs blocking calls one after another on a daemon thread.

    It is a daemon thread, so that a hanging driver can't keep the process from ending.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Await the result of `function(*arguments)`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="portaudio", daemon=True)
            self._thread.start()
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # noqa: BLE001 - re-raised where it is awaited
                future.set_exception(error)

        self._calls.put(call)
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            self._calls.get()()
