"""An utterance of the user: its sound, its words, and the opinions on whether it is finished."""

import asyncio
from dataclasses import dataclass, field

import numpy as np

from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.hallucination import SpeechSegment
from assistant.voice.turns.endpointing import WINDOW_S, Completeness
from models.interfaces import Samples

OVERLAP_WINDOWS = 3
"""Number of windows that a new segment repeats from the end of the one before it."""


@dataclass(frozen=True, slots=True)
class AudioWindow:
    """32 ms from the microphone, what was played meanwhile, and the probability of a voice."""

    samples: Samples
    played: Samples
    voice: float


@dataclass(eq=False, slots=True)
class Utterance:
    """Speech that becomes a turn, unless it is discarded.

    A long utterance is cut into segments, so that nothing is transcribed twice. Whenever the user
    goes on after a pause, a new revision begins, and the newest segment's words, both opinions and
    the answer are discarded.
    """

    windows: list[AudioWindow]
    """The newest segment's sound."""
    noise_floor: float
    last_voice: float
    """When the last window with a voice ended (`time.monotonic`)."""
    earlier: "list[asyncio.Task[str]]" = field(default_factory=list)
    """The words before the newest segment."""
    words: "asyncio.Task[str] | None" = None
    """The newest segment's words; empty if it was not speech."""
    seconds: float = 0.0
    revision: int = 0
    sounds_finished: bool | None = None
    completeness: Completeness | None = None
    """How complete the words are; None until they are known."""
    answer: SpeculativeAnswer | None = None
    over_at: float | None = None
    """When the turn was decided to be over (`time.monotonic`); None while it goes on."""
    replaced: bool = False
    """A line typed meanwhile took its place; the utterance is only followed to its end."""
    own_voice: float = 0.0
    """How much of the newest segment is the assistant's own voice, in [0, 1]."""
    reason: str = "nothing was said"
    """Why the utterance is not a turn, if it has no words."""

    @property
    def segment_s(self) -> float:
        return len(self.windows) * WINDOW_S

    def add(self, window: AudioWindow, ended: float, *, voiced: bool) -> None:
        self.windows.append(window)
        self.seconds += WINDOW_S
        if voiced:
            self.last_voice = ended

    def segment(self, confidence: float) -> SpeechSegment:
        """The newest segment; windows whose probability is at least `confidence` are voiced."""
        voices = np.array([window.voice for window in self.windows])
        voiced = voices[voices >= confidence]
        return SpeechSegment(
            samples=np.concatenate([window.samples for window in self.windows]),
            played=np.concatenate([window.played for window in self.windows]),
            voiced_s=len(voiced) * WINDOW_S,
            mean_voice=float(voiced.mean()) if len(voiced) else 0.0,
            noise_floor=self.noise_floor,
        )

    def all_words(self) -> "list[asyncio.Task[str]]":
        return self.earlier if self.words is None else [*self.earlier, self.words]

    async def with_earlier(self, newest: str) -> str:
        """The turn's words. Segments are transcribed in order, so this hardly waits."""
        parts = [await task for task in self.earlier]
        return " ".join(part for part in (*parts, newest) if part)

    def begin_revision(self, *, segment: bool) -> None:
        """The user went on speaking; with `segment`, in a new segment."""
        if segment:
            self.earlier = self.all_words()
            self.windows = self.windows[-OVERLAP_WINDOWS:]
        self.revision += 1
        self.words = self.sounds_finished = self.completeness = None
