"""Finds where speech begins and ends, from the voice probability of each 32 ms window.

Pure logic on audio time: no clock, no model, no pipecat.
"""

from dataclasses import dataclass
from enum import Enum, auto

WINDOW = 512
"""Samples per Silero window at 16 kHz."""
WINDOW_S = WINDOW / 16_000


class Signal(Enum):
    STARTED = auto()
    """There was a voice for `start_s`."""
    HINT = auto()
    """Silence for `hint_s`: time to start transcribing and to ask the turn detector."""
    RESUMED = auto()
    """There is a voice again after a hint."""
    STOPPED = auto()
    """Silence for `stop_s`: the turn is over if both sound and words are finished."""
    DOUBTFUL_SILENCE = auto()
    """Silence for `doubtful_wait_s`: the turn is over if either sound or words are finished."""
    LONG_SILENCE = auto()
    """Silence for `incomplete_wait_s`: the turn is over, whatever the detector thinks."""
    ABANDONED = auto()
    """What looked like the start of speech was too short."""


@dataclass(slots=True)
class Endpointer:
    """Turns voice probabilities into signals.

    Once there is a voice, a probability of `release` (below `confidence`) sustains it, even after a
    hint: the soft end of a word is part of it.
    """

    confidence: float
    start_s: float
    hint_s: float
    stop_s: float
    doubtful_wait_s: float
    incomplete_wait_s: float
    release: float = 0.35
    speaking: bool = False
    silence_s: float = 0.0
    _voiced_run_s: float = 0.0
    _gap_s: float = 0.0
    _hinted: bool = False

    @property
    def sensing(self) -> bool:
        """There may be a voice, but it has not lasted long enough to be sure."""
        return self._voiced_run_s > 0 and not self.speaking

    def feed(self, probability: float) -> list[Signal]:
        """Take the next window's probability; returns the resulting signals, in order."""
        if not self.speaking:
            return self._before_speech(probability)
        if probability >= self.release:
            return self._voice()
        return self._silence()

    def reset(self) -> None:
        """The turn is over or abandoned: wait for the next."""
        self.speaking = self._hinted = False
        self.silence_s = self._voiced_run_s = self._gap_s = 0.0

    def _before_speech(self, probability: float) -> list[Signal]:
        if probability >= self.confidence:
            self._voiced_run_s += WINDOW_S
            self._gap_s = 0.0
            if self._voiced_run_s + 1e-9 < self.start_s:
                return []
            self.speaking = True
            self.silence_s = 0.0
            return [Signal.STARTED]
        if self._voiced_run_s:
            self._gap_s += WINDOW_S
            if self._gap_s > 2 * WINDOW_S + 1e-9:
                self._voiced_run_s = self._gap_s = 0.0
                return [Signal.ABANDONED]
        return []

    def _voice(self) -> list[Signal]:
        resumed = self._hinted
        self.silence_s = 0.0
        self._hinted = False
        return [Signal.RESUMED] if resumed else []

    def _silence(self) -> list[Signal]:
        before, self.silence_s = self.silence_s, self.silence_s + WINDOW_S
        signals = []
        for limit, signal in (
            (self.hint_s, Signal.HINT),
            (self.stop_s, Signal.STOPPED),
            (self.doubtful_wait_s, Signal.DOUBTFUL_SILENCE),
            (self.incomplete_wait_s, Signal.LONG_SILENCE),
        ):
            if before + 1e-9 < limit <= self.silence_s + 1e-9:
                signals.append(signal)
        self._hinted = self._hinted or Signal.HINT in signals
        return signals
