"""Lists sound devices and opens streams with PortAudio.

PortAudio is loaded on first use. Its functions may block for tenths of a second and are not
thread-safe. So all calls run on one `PortAudioThread` while streams are in use.
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
means any other error on opening a device."""


@dataclass(frozen=True, slots=True)
class Device:
    """A sound device in PortAudio's list. `inputs` and `outputs` are numbers of channels. `rate` is
    the default sample rate in Hz."""

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
    """Import and return the `sounddevice` module. The first import initialises PortAudio (0.3 s).

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
        # This is a PortAudioError, but that class is in the module whose import has failed.
        raise AudioError(f"The sound library PortAudio failed to start: {error}.") from error
    return sounddevice


def list_devices() -> list[Device]:
    """Return the devices that PortAudio found when it was last initialised.

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
    """Find the microphone with the number `wanted`, or with `wanted` in its name. None finds the
    default microphone.

    Raises:
        DeviceMissing: there is no such microphone. The message lists those that exist.
        AudioError: PortAudio is missing or fails.
    """
    return choose_device(list_devices(), "microphone", wanted)


def find_output(wanted: str | None) -> Device:
    """Find the loudspeaker with the number `wanted`, or with `wanted` in its name. None finds the
    default loudspeaker.

    Raises:
        DeviceMissing: there is no such loudspeaker. The message lists those that exist.
        AudioError: PortAudio is missing or fails.
    """
    return choose_device(list_devices(), "loudspeaker", wanted)


def choose_device(devices: list[Device], kind: DeviceKind, wanted: str | None) -> Device:
    """Choose a device by its number, else by its exact name, else by part of its name. Among equal
    matches, and if `wanted` is None, prefer the default device.

    Raises:
        DeviceMissing: no device matches.
    """
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
    """A running stream, with the sample rate (Hz) and number of channels that its device
    accepted."""

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
    """Open and start an int16 stream. If the device refuses `rate`, use the device's own rate.

    Args:
        callback: returns PortAudio's callback, given the rate and channels to be tried.
        ended: called on PortAudio's thread when the stream has ended.
        block_s: the length of a block, in seconds.
        latency: in seconds, or "low" or "high".

    Raises:
        DeviceBusy: another program uses the device.
        DeviceMissing: the device was disconnected.
        AudioError: the device can't be opened for another reason.
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
    """Start an open stream, or close the stream if that fails.

    Raises:
        DeviceBusy: another program uses the device.
        DeviceMissing: the device was disconnected.
        AudioError: the stream can't be started for another reason.
    """
    try:
        opened.stream.start()
    except library().PortAudioError as error:
        opened.stream.close(ignore_errors=True)
        raise explained(error, kind, opened.device) from error


def explained(error: Exception, kind: DeviceKind, device: Device) -> AudioError:
    """Convert an error from PortAudio to an error with a message for the user."""
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
    """Restart PortAudio to update its list of devices. This ends all streams.

    Raises:
        AudioError: PortAudio does not start again.
    """
    sounddevice = library()
    # PortAudio may be terminated already, if an earlier attempt failed to initialise it.
    with contextlib.suppress(sounddevice.PortAudioError):
        sounddevice._terminate()
    try:
        sounddevice._initialize()
    except sounddevice.PortAudioError as error:
        raise AudioError(f"The sound system is not responding: {error.args[0]}.") from error


class PortAudioThread:
    """Runs blocking functions one after another on a thread.

    The thread is a daemon, so that a hanging driver can't keep the process from ending.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Call `function(*arguments)` on the thread and return its result."""
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
