"""The frames that travel down the pipeline, in addition to pipecat's own.

System frames overtake others; data frames keep their order and are dropped by an interruption.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pipecat.frames.frames import DataFrame, InputAudioRawFrame, SystemFrame

from assistant.voice.speculation import SpeculativeAnswer
from models.interfaces import Samples


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


@dataclass
class SpeechDiscardedFrame(SystemFrame):
    """The utterance is not a turn: it was noise, had no words or was abandoned."""


@dataclass
class PartialFrame(SystemFrame):
    """The words heard so far of an utterance still in progress. `own_voice` is how much of the
    sound came from the loudspeaker, in [0, 1]."""

    text: str
    own_voice: float = 0.0


@dataclass
class TypedFrame(SystemFrame):
    """A line typed by the user: a complete turn in itself."""

    text: str


@dataclass
class StopSpeakingFrame(SystemFrame):
    """The user asked for silence with a key or a command."""


@dataclass
class AnswerRequestFrame(DataFrame):
    """The user's words, to be answered, perhaps speculatively. A remark already has its text."""

    answer: SpeculativeAnswer


@dataclass
class AnswerTextFrame(DataFrame):
    answer: SpeculativeAnswer
    text: str


@dataclass
class AnswerEndFrame(DataFrame):
    answer: SpeculativeAnswer


class TimedWord(NamedTuple):
    """A word that ends at sample `end_sample` of a clause's audio. Once it has been heard, so has
    the answer's text up to `source_end`."""

    end_sample: int
    source_end: int


@dataclass
class ClauseAudioFrame(DataFrame):
    """Part of a clause as audio, and the words that end in it."""

    answer: SpeculativeAnswer
    samples: Samples
    words: tuple[TimedWord, ...]
