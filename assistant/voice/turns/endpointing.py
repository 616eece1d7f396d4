"""Detects when speech begins, pauses and resumes.

Time is counted in windows of audio. No clock, model or pipecat is needed here.
"""

from enum import Enum, auto

from assistant.settings import Turn

WINDOW = 512
"""Number of samples in a window of Silero, at 16 kHz."""
WINDOW_S = WINDOW / 16_000
RELEASE = 0.35
"""Minimum probability of a voice while speech goes on. It is low because words may end softly."""
LONGEST_GAP_S = 2 * WINDOW_S
"""A voice that hasn't lasted long enough to count as speech may have gaps of this many seconds."""
ROUNDING_S = 1e-9
"""Tolerance for rounding errors in sums of seconds."""


class SpeechChange(Enum):
    """A change in the user's speech."""

    STARTED = auto()
    """A voice was heard for `start_s` seconds."""
    PAUSED = auto()
    """No voice was heard for `hint_s` seconds, so the turn may be over."""
    RESUMED = auto()
    """A voice is heard again after a pause."""


class Endpointer:
    """Detects speech and its pauses in successive windows."""

    def __init__(self, settings: Turn) -> None:
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Wait for the next turn, after the last one has ended or was abandoned."""
        self.speaking = False
        self.silence_s = 0.0
        self._voice_s = self._gap_s = 0.0

    @property
    def silent_windows(self) -> int:
        """Number of windows since the last one with a voice."""
        return round(self.silence_s / WINDOW_S)

    @property
    def sensing(self) -> bool:
        """Whether there may be a voice that has not lasted long enough to count as speech."""
        return self._voice_s > 0 and not self.speaking

    def feed(self, probability: float) -> SpeechChange | None:
        """Process the probability of a voice in the next window. Return the change in the user's
        speech, if any."""
        if not self.speaking:
            return self._await_speech(probability)
        hint_s = self._settings.hint_s
        before, self.silence_s = self.silence_s, self.silence_s + WINDOW_S
        paused = before + ROUNDING_S >= hint_s
        if probability >= RELEASE:
            self.silence_s = 0.0
            return SpeechChange.RESUMED if paused else None
        pauses = not paused and self.silence_s + ROUNDING_S >= hint_s
        return SpeechChange.PAUSED if pauses else None

    def _await_speech(self, probability: float) -> SpeechChange | None:
        if probability >= self._settings.vad_confidence:
            self._voice_s += WINDOW_S
            self._gap_s = 0.0
            self.speaking = self._voice_s + ROUNDING_S >= self._settings.start_s
            return SpeechChange.STARTED if self.speaking else None
        self._gap_s += WINDOW_S
        if self._gap_s > LONGEST_GAP_S + ROUNDING_S:
            self._voice_s = 0.0
        return None
