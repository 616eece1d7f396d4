"""The two small models that listen all the time. Silero detects a voice, and Smart Turn judges
whether the user sounds finished. Both come with pipecat."""

from collections import deque
from typing import Protocol

import numpy as np
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.audio.vad.silero import SileroVADAnalyzer

from assistant.voice.audio.interfaces import rms
from models.interfaces import STT_SAMPLE_RATE, Samples


class VoiceDetector(Protocol):
    """Detects a voice in successive windows of sound."""

    def probability(self, window: Samples, /) -> float:
        """Return the probability of a voice in the next 512 samples of 16 kHz audio."""


class SoundJudge(Protocol):
    """Judges by the sound whether a speaker has finished."""

    def probability(self, samples: Samples, /) -> float:
        """Return the probability that the speaker has finished, given the last 8 s or less of
        16 kHz audio, including silence."""


class NoDetector:
    """Stands in for both models in a session without a microphone."""

    def probability(self, _samples: Samples) -> float:
        return 0.0


class SmartTurn(LocalSmartTurnAnalyzerV3):
    """The Smart Turn model without pipecat's own logic for the end of a turn."""

    def probability(self, samples: Samples) -> float:
        audio = samples.astype(np.float32) / 32768.0
        return float(self._predict_endpoint(audio)["probability"])


class SileroVoice(SileroVADAnalyzer):
    """The Silero model without pipecat's own logic for the start and end of speech."""

    def __init__(self) -> None:
        super().__init__(sample_rate=STT_SAMPLE_RATE)
        self.set_sample_rate(STT_SAMPLE_RATE)

    def probability(self, window: Samples) -> float:
        return float(np.squeeze(self.voice_confidence(window.tobytes())))


class GatedVoiceDetector:
    """Saves time in a quiet room by running `model` only on sound that is louder than the room.
    Quieter sound can't be a voice.

    When `model` runs again, it first gets the last windows that it missed, as context for the
    beginning of a word.
    """

    LOUDER = 1.5
    """Minimum ratio of a voice's level to the room's level, in amplitude (3.5 dB)."""
    CALM_WINDOWS = 16
    """Number of windows without a voice (0.5 s) after which the model is not run on quiet sound."""
    CONTEXT_WINDOWS = 3
    """Maximum number of missed windows that the model gets when it runs again."""
    SLOWLY = 0.05

    def __init__(self, model: VoiceDetector) -> None:
        self._model = model
        self._room = 0.0
        self._calm = 0
        self._missed: deque[Samples] = deque(maxlen=self.CONTEXT_WINDOWS)

    def probability(self, window: Samples) -> float:
        level = rms(window)
        if self._calm >= self.CALM_WINDOWS and level < self.LOUDER * self._room:
            self._learn_room(level)
            self._missed.append(window)
            return 0.0
        while self._missed:
            self._model.probability(self._missed.popleft())
        probability = self._model.probability(window)
        if probability < 0.1:
            self._calm += 1
            self._learn_room(level)
        else:
            self._calm = 0
        return probability

    def _learn_room(self, level: float) -> None:
        self._room = level if not self._room else self._room + self.SLOWLY * (level - self._room)
