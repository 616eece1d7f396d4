"""Audio devices and their streams, resampling, echo cancellation, and files in place of devices."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.voice.audio.devices import SoundDevices
    from assistant.voice.audio.echo import EchoCanceller, HalfDuplex, NoEcho, WebRtcCanceller
    from assistant.voice.audio.files import (
        FileMicrophone,
        InstantLoudspeaker,
        NullLoudspeaker,
        WavLoudspeaker,
    )
    from assistant.voice.audio.interfaces import MIC_RATE, Microphone, dbfs, to_int16
    from assistant.voice.audio.portaudio import (
        Device,
        DeviceKind,
        Opened,
        choose_device,
        find_input,
        find_output,
        list_devices,
        open_stream,
    )
    from assistant.voice.audio.resampling import Resampler
else:
    __getattr__ = exports(__name__)

__all__ = [
    "MIC_RATE",
    "Device",
    "DeviceKind",
    "EchoCanceller",
    "FileMicrophone",
    "HalfDuplex",
    "InstantLoudspeaker",
    "Microphone",
    "NoEcho",
    "NullLoudspeaker",
    "Opened",
    "Resampler",
    "SoundDevices",
    "WavLoudspeaker",
    "WebRtcCanceller",
    "choose_device",
    "dbfs",
    "find_input",
    "find_output",
    "list_devices",
    "open_stream",
    "to_int16",
]
