"""An utterance of the user, i.e. speech that may become a turn."""

import asyncio
from dataclasses import dataclass, field

import numpy as np

from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.hallucination import SpeechSegment
from assistant.voice.turns.end_of_turn import Evidence
from assistant.voice.turns.endpointing import WINDOW_S
from models.interfaces import Samples

OVERLAP_WINDOWS = 3
"""Number of windows at the end of a segment that the next segment repeats."""


@dataclass(frozen=True, slots=True)
class AudioWindow:
    """32 ms of sound from the microphone, the samples that the loudspeaker played meanwhile, and
    the probability of a voice."""

    samples: Samples
    played: Samples
    voice: float


@dataclass(eq=False, slots=True)
class Utterance:
    """Speech that becomes a turn, unless it is discarded.

    A long utterance is cut into segments, so that its beginning is transcribed only once. Whenever
    the user goes on after a pause, a new revision begins: the newest segment's words, the evidence
    that the turn was over, and the answer are discarded.
    """

    windows: list[AudioWindow]
    """The sound of the newest segment."""
    noise_floor: float
    last_voice: float
    """The `time.monotonic()` at which the last window with a voice ended."""
    earlier: "list[asyncio.Task[str]]" = field(default_factory=list)
    """Tasks that return the words of the earlier segments, in order."""
    words: "asyncio.Task[str] | None" = None
    """A task that returns the words of the newest segment, or "" if it was not speech. None until
    transcription begins."""
    seconds: float = 0.0
    revision: int = 0
    transcribed: bool = False
    """Whether the words are known."""
    evidence: Evidence = field(default_factory=Evidence)
    """What tells whether the pause ends the turn."""
    answer: SpeculativeAnswer | None = None
    over_at: float | None = None
    """The `time.monotonic()` at which the turn was found to be over; None before."""
    replaced: bool = False
    """Whether the user typed a line during the utterance. If so, the line becomes the turn, and the
    utterance gets no answer."""
    own_voice: float = 0.0
    """Estimate of how much of the newest segment is the assistant's own voice, in [0, 1]."""
    reason: str = "nothing was said"
    """The reason why the utterance did not become a turn, if it has no words."""

    @property
    def segment_s(self) -> float:
        return len(self.windows) * WINDOW_S

    def add(self, window: AudioWindow, ended: float, *, voiced: bool) -> None:
        self.windows.append(window)
        self.seconds += WINDOW_S
        if voiced:
            self.last_voice = ended

    def segment(self, confidence: float) -> SpeechSegment:
        """Return the newest segment. Windows count as voice if their probability is at least
        `confidence`."""
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
        """Return the tasks that return the words of all segments, in order."""
        return self.earlier if self.words is None else [*self.earlier, self.words]

    async def with_earlier(self, newest: str) -> str:
        """Return all words of the utterance, given those of the newest segment. The earlier words
        are usually ready, because segments are transcribed in order."""
        parts = [await task for task in self.earlier]
        return " ".join(part for part in (*parts, newest) if part)

    def begin_revision(self, *, segment: bool) -> None:
        """Discard the results of the last pause, because the user went on speaking. With `segment`,
        begin a new segment."""
        if segment:
            self.earlier = self.all_words()
            self.windows = self.windows[-OVERLAP_WINDOWS:]
        self.revision += 1
        self.words = None
        self.transcribed = False
        self.evidence = Evidence()
