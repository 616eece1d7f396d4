"""Fixtures that the tests with real models and real sound share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from moto.server import ThreadedMotoServer

from assistant.paths import models_cache
from assistant.voice.audio.interfaces import MIC_RATE
from assistant.voice.audio.resampling import Resampler
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import Samples
from models.stt.whisper import FasterWhisper
from models.tts.piper import Piper
from tests.support.listening import Listener
from tests.support.model_server import model_server
from tests.support.object_store import object_store
from tests.support.pulse import PulseServer


@pytest.fixture(scope="module")
def pulse_server() -> Iterator[PulseServer]:
    """A private sound server, which `pulse` restores after each test."""
    with PulseServer() as server:
        yield server


@pytest.fixture
def pulse(pulse_server: PulseServer) -> Iterator[PulseServer]:
    """The private sound server with both devices and no echo. Child processes need `pulse.env`."""
    yield pulse_server
    pulse_server.restore()


@pytest.fixture
def server() -> Iterator[ThreadedMotoServer]:
    """A separate object store."""
    with object_store() as server:
        yield server


@pytest.fixture(scope="session")
def store() -> ModelStore:
    """The cache that the test command has filled with the profile `tiny`."""
    return ModelStore(models_cache(), catalogue.read())


@pytest.fixture(scope="session")
def scripted() -> Iterator[dict[str, str]]:
    """Variables for an assistant whose language model says "I see." to everything; for tests of all
    but its answers. A real one takes as long to start as the rest of the assistant."""
    with model_server(lambda _newest: "I see.") as endpoint:
        yield {"ASSISTANT_LLM__ENDPOINT": endpoint}


@pytest.fixture(scope="session")
def recogniser(store: ModelStore) -> FasterWhisper:
    whisper = FasterWhisper(store.location("whisper-tiny.en"), threads=2)
    whisper.load()
    return whisper


@pytest.fixture(scope="session")
def listener(recogniser: FasterWhisper) -> Listener:
    return Listener(recogniser)


@pytest.fixture(scope="session")
def speaker(store: ModelStore) -> Callable[[str], Samples]:
    """Makes a function that speaks a text with the real voice, at a microphone's 16 kHz."""
    voice = Piper(store.weights("piper-en-us-joe-medium"))
    voice.load()

    def say(text: str) -> Samples:
        sound = np.concatenate([piece.samples for piece in voice.synthesize(text)])
        return Resampler(voice.sample_rate, MIC_RATE).process(sound)

    return say


@pytest.fixture(scope="session")
def question(speaker: Callable[[str], Samples], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of somebody who asks for the name of a capital."""
    path = tmp_path_factory.mktemp("recordings") / "question.wav"
    soundfile.write(path, speaker("What is the capital of France?"), MIC_RATE)
    return path
