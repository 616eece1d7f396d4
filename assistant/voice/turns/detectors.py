"""The two small models that always listen: is there a voice, and is the speaker done?

Both come with pipecat. In a quiet room the voice detector is not run: as long as nothing is louder
than the room itself, there can be no voice.
"""

from collections import deque
from typing import Protocol

import numpy as np
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.audio.vad.silero import SileroVADAnalyzer

from models.interfaces import STT_SAMPLE_RATE, Samples


class VoiceDetector(Protocol):
    def probability(self, window: Samples) -> float:
        """The probability of a voice in the next 512 samples of 16 kHz audio."""


class EndOfTurn(Protocol):
    def probability(self, samples: Samples) -> float:
        """The probability that the speaker is done, given at most 8 s of 16 kHz audio, silence
        included."""


class SmartTurn(LocalSmartTurnAnalyzerV3):
    """pipecat's bundled model, called directly on a segment of audio."""

    def probability(self, samples: Samples) -> float:
        audio = samples.astype(np.float32) / 32768.0
        return float(self._predict_endpoint(audio)["probability"])


class SileroVoice(SileroVADAnalyzer):
    """pipecat's bundled voice detector at 16 kHz, window by window."""

    def __init__(self) -> None:
        super().__init__(sample_rate=STT_SAMPLE_RATE)
        self.set_sample_rate(STT_SAMPLE_RATE)

    def probability(self, window: Samples) -> float:
        return float(np.squeeze(self.voice_confidence(window.tobytes())))


class GatedVoiceDetector:
    """Runs `model` only on what stands out from the room's noise.

    When it starts, `model` first gets the last skipped windows, so that it hears the beginning of
    a word in context.
    """

    LOUDER = 1.5
    """Minimum ratio to the room's level, in amplitude (3.5 dB); a voice exceeds it."""
    CALM_WINDOWS = 16
    """Windows without a voice (0.5 s) before the model rests."""
    CONTEXT_WINDOWS = 3
    SLOWLY = 0.05

    def __init__(self, model: VoiceDetector) -> None:
        self._model = model
        self._room = 0.0
        self._calm = 0
        self._passed: deque[Samples] = deque(maxlen=self.CONTEXT_WINDOWS)

    def probability(self, window: Samples) -> float:
        wide = window.astype(np.float32)
        level = float(np.sqrt(np.dot(wide, wide) / len(wide)))
        if self._calm >= self.CALM_WINDOWS and level < self.LOUDER * self._room:
            self._hear_room(level)
            self._passed.append(window)
            return 0.0
        while self._passed:
            self._model.probability(self._passed.popleft())
        probability = self._model.probability(window)
        if probability < 0.1:
            self._calm += 1
            self._hear_room(level)
        else:
            self._calm = 0
        return probability

    def _hear_room(self, level: float) -> None:
        self._room = level if not self._room else self._room + self.SLOWLY * (level - self._room)
