"""What travels down the pipeline, beside pipecat's own frames.

System frames overtake; data frames keep their order and are dropped by an interruption.
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
    """20 ms of sound; `captured` is when its last sample was recorded (`time.monotonic`).

    `played` is what the loudspeaker sounded meanwhile, as long, unless it was quiet.
    """

    captured: float = 0.0
    played: Samples | None = None

    @property
    def samples(self) -> Samples:
        return np.frombuffer(self.audio, dtype=np.int16)


@dataclass
class SpeechStartedFrame(SystemFrame):
    """The voice detector is sure that someone speaks."""

    utterance: int


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """A stretch of speech to be transcribed, with what the voice detector made of it.

    `samples` holds 16 kHz audio from shortly before the speech, `played` what the loudspeaker
    sounded beside it (zeros when it was quiet); `voiced_s` and `mean_voice`
    measure the windows in which there was a voice. `ended` is the end of the speech on the clock
    of `time.monotonic`, taken from the audio itself.
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
    """A first hint of silence: perhaps the turn is over."""

    stretch: SpeechSegment


@dataclass
class SpeechContinuesFrame(SystemFrame):
    """The user is still speaking; what there is so far, for a partial transcript."""

    stretch: SpeechSegment


@dataclass
class SpeechResumedFrame(SystemFrame):
    """The user went on after a hint: what was tried on `revision` is void.

    With `commit` its words stay as the beginning of the turn, and the stretches that follow start
    after them: so a long turn is never transcribed twice.
    """

    utterance: int
    revision: int
    commit: bool = False


@dataclass
class CompletenessFrame(SystemFrame):
    """Upstream, from hearing to the turn detector: how finished the words of a stretch are."""

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
    """There was no end: the longest turn allowed was reached."""


@dataclass
class PartialFrame(SystemFrame):
    """Words heard so far of an utterance that goes on. `own_voice` is how much of the sound is what
    the loudspeaker played, in [0, 1]."""

    utterance: int
    text: str
    own_voice: float = 0.0


@dataclass
class SpeechDiscardedFrame(SystemFrame):
    """What was heard is no turn: noise, nothing, or given up."""

    utterance: int
    reason: str
    transcription: Transcription | None = None


@dataclass
class AttemptFrame(DataFrame):
    """Words to be answered, perhaps provisionally."""

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
    """A piece of a clause as sound. Each word that ends in it carries the sample at which it does
    so, and where it ends in the text of the answer."""

    attempt: Attempt
    samples: Samples
    words: tuple["TimedWord", ...] = field(default=())


@dataclass(frozen=True, slots=True)
class TimedWord:
    word: SpokenWord
    end_sample: int


@dataclass
class CutOffFrame(InterruptionFrame):
    """Words stopped the answer to `attempt`, or a remark where that is None.

    Any other interruption only drops work on an attempt that was withdrawn before it was heard.
    """

    attempt: Attempt | None = None


@dataclass
class TypedFrame(SystemFrame):
    """A line typed by the user: a turn of its own, at once."""

    text: str


@dataclass
class StopSpeakingFrame(SystemFrame):
    """The user asked for silence by a key or a command."""
