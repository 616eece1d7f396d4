"""The frames that travel down the pipeline, in addition to pipecat's own.

System frames overtake others; data frames keep their order and are dropped by an interruption.
"""

from dataclasses import dataclass, field

import numpy as np
from pipecat.frames.frames import (
    DataFrame,
    InputAudioRawFrame,
    InterruptionFrame,
    SystemFrame,
)

from assistant.voice.attempt import Attempt
from assistant.voice.speech.clauses import SpokenWord
from assistant.voice.turns.semantic_endpointing import Completeness
from models.interfaces import Samples, Transcription


@dataclass
class MicrophoneFrame(InputAudioRawFrame):
    """20 ms of sound. `captured` is when its last sample was recorded (`time.monotonic`).

    `played` is what the loudspeaker played meanwhile (same length); None if it was silent.
    """

    captured: float = 0.0
    played: Samples | None = None

    @property
    def samples(self) -> Samples:
        return np.frombuffer(self.audio, dtype=np.int16)


@dataclass
class SpeechStartedFrame(SystemFrame):
    """The voice detector is sure that someone is speaking."""

    utterance: int


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """A segment of speech to transcribe, with the voice detector's measurements of it.

    `samples` is 16 kHz audio from shortly before the speech began; `played` is what the loudspeaker
    played meanwhile (zeros if it was silent). `voiced_s` and `mean_voice` cover only the windows
    with a voice. `ended` is the end of the speech by `time.monotonic`, taken from the audio
    itself.
    """

    utterance: int
    revision: int
    samples: Samples
    played: Samples
    ended: float
    voiced_s: float
    mean_voice: float
    max_voice: float
    noise_floor: float


@dataclass
class SpeechPausedFrame(SystemFrame):
    """A first hint of silence: the turn may be over."""

    stretch: SpeechSegment


@dataclass
class SpeechContinuesFrame(SystemFrame):
    """The user is still speaking. Carries the audio so far, for a partial transcript."""

    stretch: SpeechSegment


@dataclass
class SpeechResumedFrame(SystemFrame):
    """The user went on speaking after a hint of silence: work on `revision` is void.

    With `commit`, its words stay as the beginning of the turn and later segments start after them,
    so that a long turn is never transcribed twice.
    """

    utterance: int
    revision: int
    commit: bool = False


@dataclass
class CompletenessFrame(SystemFrame):
    """Sent upstream by hearing to the turn detector: how complete a segment's words are."""

    utterance: int
    revision: int
    phrase: Completeness


@dataclass
class TurnOverFrame(SystemFrame):
    """The turn detector's decision."""

    utterance: int
    revision: int
    decided: float
    forced: bool = False
    """The speech did not end: it reached the longest turn allowed."""


@dataclass
class PartialFrame(SystemFrame):
    """The words heard so far of an utterance still in progress. `own_voice` is how much of the
    sound came from the loudspeaker, in [0, 1]."""

    utterance: int
    text: str
    own_voice: float = 0.0


@dataclass
class SpeechDiscardedFrame(SystemFrame):
    """What was heard is not a turn: it was noise, empty or abandoned."""

    utterance: int
    reason: str
    transcription: Transcription | None = None


@dataclass
class AttemptFrame(DataFrame):
    """Words to answer, perhaps provisionally."""

    attempt: Attempt


@dataclass
class AnswerTextFrame(DataFrame):
    attempt: Attempt
    text: str


@dataclass
class AnswerEndFrame(DataFrame):
    attempt: Attempt


@dataclass
class ClauseAudioFrame(DataFrame):
    """Part of a clause as audio. Each word that ends in it carries the sample at which it ends, and
    where it ends in the answer's text."""

    attempt: Attempt
    samples: Samples
    words: tuple["TimedWord", ...] = field(default=())


@dataclass(frozen=True, slots=True)
class TimedWord:
    word: SpokenWord
    end_sample: int


@dataclass
class CutOffFrame(InterruptionFrame):
    """The user's words stopped the answer to `attempt`; None if it was a remark.

    Any other interruption only drops work on an attempt that was withdrawn before it was heard.
    """

    attempt: Attempt | None = None


@dataclass
class TypedFrame(SystemFrame):
    """A line typed by the user: a complete turn in itself."""

    text: str


@dataclass
class StopSpeakingFrame(SystemFrame):
    """The user asked for silence with a key or a command."""
