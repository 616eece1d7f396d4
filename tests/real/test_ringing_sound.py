"""What is due rings through a real sound server, and is silenced by a spoken word."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Event, Remarked, SpeechIgnored, TurnHeard
from assistant.settings import Settings
from assistant.voice.audio import SoundDevices, WebRtcCanceller
from assistant.voice.audio.chimes import RING_S, STROKES
from assistant.voice.audio.interfaces import MIC_RATE
from assistant.voice.audio.portaudio import reinitialise
from assistant.voice.dialogue import Dialogue
from assistant.voice.latency import LatencyLog
from assistant.voice.pipeline import AudioIO, VoiceLoop
from assistant.voice.turns.end_of_turn import EndOfTurn, read_weights
from assistant.voice.turns.pipecat_models import GatedVoiceDetector, SileroVoice, SmartTurn
from models.download.cache import ModelStore
from models.interfaces import ModelSet, Samples
from models.stt.whisper import FasterWhisper
from models.tts.piper import Piper
from tests.support.fakes import ScriptedLlm
from tests.support.listening import Listener
from tests.support.patience import PATIENCE_S
from tests.support.pulse import PulseServer, in_environment

pytestmark = [pytest.mark.real, pytest.mark.sound, pytest.mark.alone]

UP = "The timer for the potatoes is up."
PAUSE_S = 1.5
MOST_MISHEARD = 4
"""Number of misheard words after which the test fails. About one in six is misheard."""


class Ringer:
    """A voice loop with real models and devices, but without a language model."""

    def __init__(self, loop: VoiceLoop, dialogue: Dialogue, events: list[Event]) -> None:
        self.loop = loop
        self.dialogue = dialogue
        self.events = events

    async def sounds(self, *, aloud: bool = True) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.dialogue.aloud is not aloud:
                await asyncio.sleep(0.02)


@pytest.fixture
async def ringer(
    tmp_path: Path, pulse: PulseServer, store: ModelStore, recogniser: FasterWhisper
) -> AsyncIterator[Ringer]:
    settings, bus, llm = Settings(), EventBus(), ScriptedLlm()
    events: list[Event] = []
    bus.subscribe(events.append)
    tts = Piper(store.weights("piper-en-us-joe-medium"))
    await asyncio.to_thread(tts.load)
    voice, judge = await asyncio.to_thread(lambda: (GatedVoiceDetector(SileroVoice()), SmartTurn()))
    detectors = voice, EndOfTurn(judge, None, read_weights(), 1.0)
    with in_environment(pulse.env):
        reinitialise()
        devices, echo = SoundDevices(), WebRtcCanceller()
        loudspeaker = devices.loudspeaker()
        loudspeaker.set_reference(echo.far)
        memory = ShortTermMemory(Conversation.begin("me"), llm, settings, None, bus.emit)
        dialogue = Dialogue(settings, bus, llm, memory, LatencyLog(tmp_path / "ledger.jsonl"))
        microphone = devices.microphone()
        sound = AudioIO(microphone, loudspeaker, echo)
        loop = VoiceLoop(settings, dialogue, ModelSet(recogniser, llm, tts), sound, detectors)
        await loop.start()
        dialogue.listen()
        yield Ringer(loop, dialogue, events)
        await loop.close()
        await dialogue.close()
        await microphone.close()
        await loudspeaker.close()


def strength(samples: Samples, hertz: float) -> float:
    """The share of the energy that lies within 15 Hz of a frequency."""
    spectrum = np.abs(np.fft.rfft(samples.astype(float))) ** 2
    distance = np.abs(np.fft.rfftfreq(len(samples), 1 / MIC_RATE) - hertz)
    return float(spectrum[distance < 15].sum() / spectrum.sum())


async def test_a_ring_is_audible_and_a_spoken_stop_in_the_middle_of_the_bell_ends_it(
    pulse: PulseServer, ringer: Ringer, speaker: Callable[[str], Samples], listener: Listener
) -> None:
    """The microphone picks up the loudspeaker's sound as loud as it is played."""
    stop = speaker("Stop.")
    await asyncio.to_thread(pulse.echo, True)
    capture = await asyncio.to_thread(pulse.record)
    rings = asyncio.create_task(ringer.loop.ringer.ring(lambda: UP, insistent=True))
    await ringer.sounds()
    await ringer.sounds(aloud=False)
    await asyncio.sleep(1.0)  # its end is still on its way through the sound server
    heard = capture.stop()
    begin = int(np.flatnonzero(np.abs(heard.astype(int)) > 200)[0])
    bell = heard[begin : begin + int(RING_S * MIC_RATE)]
    words = heard[begin + len(bell) :]
    for _, pitch in STROKES:
        assert strength(bell, pitch) > 0.1
        assert strength(words, pitch) < 0.1
    assert np.abs(bell.astype(int)).max() > 8000
    assert listener.word_error(words, UP) < 0.2
    assert not rings.done(), "its own sound does not end it"
    assert not turns(ringer.events), "its own sound is not taken for speech"

    rung = 1
    while not (await stopped_by_command(rings, ringer, pulse, stop) and await rings):
        await rings  # words that come before any of the bell was heard end it, too
        assert rung <= MOST_MISHEARD
        rung += 1
        rings = asyncio.create_task(ringer.loop.ringer.ring(lambda: UP, insistent=True))
    await ringer.sounds(aloud=False)
    written = [each for each in ringer.events if each == Remarked(UP)]
    assert 1 <= len(written) <= rung, "at most once for each time that it rang"


async def stopped_by_command(
    rings: "asyncio.Task[int]", ringer: Ringer, pulse: PulseServer, stop: Samples
) -> bool:
    """Say "Stop." in the middle of the bell until it ends. Return whether the word was heard as a
    command. The canceller is still adapting to a bell as loud as the voice, so a word may be lost,
    or misheard and taken for a turn, which ends the bell, too."""
    misheard = len(turns(ringer.events))
    while not rings.done():
        sounds = asyncio.create_task(ringer.sounds())
        await asyncio.wait({rings, sounds}, return_when=asyncio.FIRST_COMPLETED)
        sounds.cancel()
        if not rings.done():
            await asyncio.to_thread(pulse.speak, stop)
            await asyncio.wait({rings}, timeout=PAUSE_S)
    async with asyncio.timeout(PATIENCE_S):  # the bell ends before the event comes
        while not (commanded := is_commanded(ringer.events)):
            if len(turns(ringer.events)) > misheard:
                break
            await asyncio.sleep(0.02)
    return commanded


def turns(events: list[Event]) -> list[TurnHeard]:
    return [each for each in events if isinstance(each, TurnHeard)]


def is_commanded(events: list[Event]) -> bool:
    return any(isinstance(each, SpeechIgnored) and each.reason == "command" for each in events)
