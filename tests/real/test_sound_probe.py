"""The screen's probe of sound devices, with a real sound server."""

from contextlib import aclosing
from dataclasses import replace

import numpy as np
import pytest

from assistant.errors import AudioError
from assistant.voice.audio.interfaces import dbfs
from assistant.voice.audio.portaudio import choose_device
from tests.support.pulse import PulseServer
from tests.support.voices import voice
from ui.screen.settings.sound_probe import TONE_HZ, tone
from ui.screen.settings.sound_probe_client import AudioProbeProcess

pytestmark = [pytest.mark.sound, pytest.mark.alone]


async def test_levels_rise_when_somebody_speaks(pulse: PulseServer) -> None:
    sound = AudioProbeProcess(pulse.env)
    microphone = choose_device(await sound.devices(), "microphone", None)
    saying = pulse.start_speaking(np.tile(voice(1.0, 3), 4))
    levels = []
    async with aclosing(sound.levels(microphone)) as heard:
        async for level in heard:
            levels.append(level)
            if len(levels) > 10 and max(levels) > -40:
                break
            assert len(levels) < 200
    saying.kill()
    saying.communicate()

    assert max(levels) > -40


async def test_the_test_tone_is_audible(pulse: PulseServer) -> None:
    sound = AudioProbeProcess(pulse.env)
    loudspeaker = choose_device(await sound.devices(), "loudspeaker", None)
    recording = pulse.record(rate=16_000)
    await sound.tone(loudspeaker)
    heard = recording.stop()
    spectrum = np.abs(np.fft.rfft(heard))
    hertz = np.fft.rfftfreq(len(heard), 1 / 16_000)
    near = [spectrum[np.abs(hertz - each) < 5].max() for each in TONE_HZ]

    assert dbfs(heard) > -40
    assert min(near) > 20 * np.median(spectrum)


async def test_a_device_that_has_disappeared_is_reported(pulse: PulseServer) -> None:
    sound = AudioProbeProcess(pulse.env)
    [first, *_] = await sound.devices()
    with pytest.raises(AudioError, match='The loudspeaker "Gone" is gone'):
        await sound.tone(replace(first, name="Gone"))


def test_the_tone_does_not_click() -> None:
    notes = tone(48_000)

    assert notes.dtype == np.int16
    assert np.abs(np.diff(notes.astype(np.int32))).max() < 700
    assert -24 < dbfs(notes) < -18
