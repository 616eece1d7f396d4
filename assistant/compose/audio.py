"""Opens the audio devices of a session. The session does without a missing device, unless the
settings name that device."""

import asyncio
from collections.abc import Callable

from assistant.compose.plan import SessionPlan
from assistant.errors import AudioError
from assistant.event_bus import EventBus
from assistant.events import Notice, Severity, SoundReady
from assistant.settings import Settings
from assistant.voice import (
    AudioIO,
    GatedVoiceDetector,
    NoDetector,
    SileroVoice,
    SmartTurn,
    SoundJudge,
    VoiceDetector,
)
from assistant.voice.audio import (
    Device,
    EchoCanceller,
    FileMicrophone,
    HalfDuplex,
    InstantLoudspeaker,
    Microphone,
    NoEcho,
    NullLoudspeaker,
    SoundDevices,
    WavLoudspeaker,
    WebRtcCanceller,
    find_input,
    find_output,
)


def load_detectors() -> tuple[VoiceDetector, SoundJudge]:
    return GatedVoiceDetector(SileroVoice()), SmartTurn()


def no_detectors() -> tuple[VoiceDetector, SoundJudge]:
    """Return detectors without models, so that a session without a microphone starts sooner."""
    return NoDetector(), NoDetector()


Find = Callable[[str | None], Device]
"""Finds a device by name, or the default device for None. Raises AudioError if there is none."""


async def open_audio(
    settings: Settings,
    plan: SessionPlan,
    bus: EventBus,
    recordings: FileMicrophone | None,
    on_works: Callable[[bool], None],
) -> AudioIO:
    """Open the audio devices or files that the plan requires.

    Args:
        on_works: called with False when the devices are lost, and with True when they are back.

    Raises:
        AudioError: a device named in the settings is missing.
    """
    if recordings is None and not (plan.typed and (plan.output is not None or not plan.speaks)):
        return await _live(settings, plan, bus, on_works)
    if plan.output is not None:
        return AudioIO(recordings, WavLoudspeaker(plan.output), NoEcho())
    if plan.speaks:
        return AudioIO(recordings, NullLoudspeaker(), NoEcho())
    return AudioIO(recordings, InstantLoudspeaker(), NoEcho(), speaks=False)


async def _live(
    settings: Settings, plan: SessionPlan, bus: EventBus, on_works: Callable[[bool], None]
) -> AudioIO:
    """Open the machine's microphone and loudspeaker. If one is missing, report this and continue
    without it. Raises AudioError if the settings name the missing device."""

    def on_state(sentence: str, ok: bool) -> None:
        on_works(ok)
        bus.emit(Notice(sentence, Severity.INFO if ok else Severity.WARNING))

    async def found(find: Find, wanted: str | None, instead: str) -> str | None:
        try:
            return (await asyncio.to_thread(find, wanted)).name
        except AudioError as error:
            if wanted is not None:
                raise
            bus.emit(Notice(f"{error} {instead}", Severity.WARNING, error.mend))
            return None

    audio, devices = settings.audio, SoundDevices(on_state)
    microphone: Microphone | None = None
    heard = spoken = None
    if not plan.typed:
        heard = await found(find_input, audio.input_device, "Type instead.")
    if plan.speaks and plan.output is None:
        spoken = await found(
            find_output, audio.output_device, "Answers will only be shown as text."
        )
    bus.emit(SoundReady(heard, spoken))
    if heard is not None:
        microphone = devices.microphone(audio.input_device)
    if plan.output is not None:
        return AudioIO(microphone, WavLoudspeaker(plan.output), NoEcho())
    if spoken is not None:
        loudspeaker = devices.loudspeaker(audio.output_device)
        echo = await asyncio.to_thread(_echo, settings) if microphone else NoEcho()
        loudspeaker.set_reference(echo.far)
        return AudioIO(microphone, loudspeaker, echo)
    return AudioIO(microphone, InstantLoudspeaker(), NoEcho(), speaks=False)


def _echo(settings: Settings) -> EchoCanceller:
    if settings.audio.echo == "off":
        return NoEcho()
    return WebRtcCanceller() if settings.audio.echo == "cancel" else HalfDuplex()
