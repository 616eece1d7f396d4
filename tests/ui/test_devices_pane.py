"""The devices pane of the settings tab, driven by keys. tests/real/ tests it on a sound server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from assistant.errors import AudioError
from assistant.events import MicrophoneLevel, Phase, PhaseChanged
from assistant.paths import Home
from assistant.settings import load
from assistant.voice.audio.portaudio import Device
from tests.support.fake_sound import BUILT_IN, HEADSET, SCREEN, FakeSound
from tests.support.panes import PaneApp
from tests.support.pilots import shown, until
from tests.support.screens import AT, ToldSession
from ui.screen.settings.devices_pane import DevicesPane
from ui.screen.settings.sound_probe_client import name_for
from ui.screen.settings.tab import SettingsTab
from ui.session.state import ScreenState, fold


@asynccontextmanager
async def opened(home: Home, sound: FakeSound) -> AsyncIterator[tuple[PaneApp, Pilot[None]]]:
    """A pane with the cursor on the first microphone, which is the system's default."""
    loaded = load(home.settings_file)
    app = PaneApp(SettingsTab(ToldSession(), home, loaded, sound=sound, reason=lambda _: None))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right")
        await until(pilot, lambda: "Looking" not in shown(app))
        yield app, pilot


def line(app: PaneApp, name: str, kind: str = "Microphones") -> str:
    below = shown(app).partition(kind)[2]
    return next(each for each in below.splitlines() if name in each)


async def test_all_devices_and_those_in_use_are_shown_even_if_plugged_in_later(home: Home) -> None:
    sound = FakeSound(BUILT_IN, SCREEN)
    async with opened(home, sound) as (app, pilot):
        assert "in use  default" in line(app, "Built-in")
        assert "mic closed" in line(app, "Built-in")
        assert "HDMI" not in shown(app).partition("Loudspeakers")[0]
        assert "HDMI" in line(app, "HDMI", "Loudspeakers")
        sound.there.append(HEADSET)
        await pilot.press("f")
        await until(pilot, lambda: "Headset" in shown(app))
        assert "in use" not in line(app, "Headset")


async def test_without_any_devices_the_pane_says_so_and_keys_do_nothing(home: Home) -> None:
    async with opened(home, FakeSound()) as (app, pilot):
        assert "No microphone or loudspeaker was found." in shown(app)
        await pilot.press("enter", "m", "p")
        await pilot.pause()
        assert app.troubles == []


async def test_enter_chooses_a_device_or_the_default_again(home: Home) -> None:
    async with opened(home, FakeSound(BUILT_IN, HEADSET)) as (app, pilot):
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: len(app.changes) == 1)
        assert load(home.settings_file).settings.audio.input_device == "Headset"
        assert "● Headset" in shown(app)
        assert "audio.input_device = Headset   this one: ALSA, 16,000 Hz" in shown(app)
        assert "Restart needed for audio.input_device" in shown(app)
        await pilot.press("g", "enter")
        await until(pilot, lambda: len(app.changes) == 2)
        assert load(home.settings_file).settings.audio.input_device is None
        await pilot.press("G", "enter")
        await until(pilot, lambda: len(app.changes) == 3)
        assert load(home.settings_file).settings.audio.output_device == "Headset"


async def test_the_microphone_in_use_shows_the_assistants_own_level(home: Home) -> None:
    sound, state = FakeSound(BUILT_IN, HEADSET), ScreenState()
    async with opened(home, sound) as (app, pilot):
        for event in (PhaseChanged(Phase.LISTENING), MicrophoneLevel(-10.0)):
            fold(state, event, AT)
        app.query_one(DevicesPane).show(state)
        await pilot.pause()
        assert "█" in line(app, "Built-in")
        await pilot.press("j", "m")
        await pilot.pause()
        assert sound.listened == []
        assert app.told == [
            "The assistant is already using this microphone, so its level is always shown."
        ]


async def test_another_microphone_is_open_only_while_its_level_is_shown(home: Home) -> None:
    sound = FakeSound(BUILT_IN, HEADSET)
    async with opened(home, sound) as (app, pilot):
        await pilot.press("j", "j", "m")
        await until(pilot, lambda: "-12 dBFS" in line(app, "Headset"))
        await pilot.press("m")
        await until(pilot, lambda: sound.left == ["Headset"])
        assert "dBFS" not in shown(app)
        await pilot.press("m")
        await until(pilot, lambda: len(sound.listened) == 2)
        await pilot.press("right")
        await until(pilot, lambda: sound.left == ["Headset", "Headset"])


async def test_a_microphone_opened_for_its_level_is_closed_after_a_while(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.screen.settings.devices_pane.METER_S", 0.1)
    sound = FakeSound(BUILT_IN, HEADSET)
    async with opened(home, sound) as (app, pilot):
        await pilot.press("j", "j", "m")
        await until(pilot, lambda: sound.left == ["Headset"])
        await until(pilot, lambda: "dBFS" not in line(app, "Headset"))
        assert app.troubles == []


async def test_p_plays_a_test_tone(home: Home) -> None:
    sound = FakeSound(BUILT_IN, SCREEN)
    async with opened(home, sound) as (_, pilot):
        await pilot.press("p")
        await until(pilot, lambda: sound.played == ["Built-in"])
        await pilot.press("G", "p")
        await until(pilot, lambda: sound.played == ["Built-in", "HDMI"])


async def test_the_reason_why_a_device_fails_is_shown(home: Home) -> None:
    sound = FakeSound(BUILT_IN, HEADSET)
    sound.broken = AudioError("It is taken.")
    async with opened(home, sound) as (app, pilot):
        await pilot.press("j", "j", "m", "p")
        await until(pilot, lambda: len(app.troubles) == 2)
        assert {str(each) for each in app.troubles} == {"It is taken."}


async def test_a_failing_sound_system_is_reported(home: Home) -> None:
    class Failing(FakeSound):
        async def devices(self) -> list[Device]:
            raise AudioError("The sound library PortAudio is not installed.")

    async with opened(home, Failing()) as (app, _):
        assert "PortAudio is not installed" in str(app.troubles[0])
        assert "No microphone or loudspeaker" in shown(app)


TWIN = replace(HEADSET, index=7, host_api="OSS")


@pytest.mark.parametrize(("device", "name"), [(HEADSET, "Headset"), (SCREEN, "HDMI"), (TWIN, "7")])
def test_a_device_is_identified_by_its_name_unless_that_means_another(
    device: Device, name: str
) -> None:
    assert name_for([BUILT_IN, HEADSET, SCREEN, TWIN], "loudspeaker", device) == name
