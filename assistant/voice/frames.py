"""The assistant's own frames, in addition to pipecat's.

System frames overtake other frames. Data frames keep their order, and an interruption drops them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pipecat.frames.frames import DataFrame, InputAudioRawFrame, SystemFrame

from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.clauses import Clause
from models.interfaces import Samples


@dataclass
class MicrophoneFrame(InputAudioRawFrame):
    """20 ms of sound from the microphone. `captured` is the `time.monotonic()` of its last sample.

    `played` is what the loudspeaker played meanwhile, with the same length; None if it was silent.
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
    """The utterance did not become a turn, e.g. because it was noise or was abandoned."""


@dataclass
class PartialFrame(SystemFrame):
    """The words that the recogniser has found so far in an utterance. `own_voice` estimates how
    much of the sound came from the loudspeaker, in [0, 1]. `goes_on` is whether the user was still
    speaking; otherwise, a request for an answer follows."""

    text: str
    own_voice: float = 0.0
    goes_on: bool = False


@dataclass
class TypedFrame(SystemFrame):
    """A line that the user typed, which is a complete turn."""

    text: str


@dataclass
class StopSpeakingFrame(SystemFrame):
    """The user asked for silence with a key or a command."""


@dataclass
class AnswerRequestFrame(DataFrame):
    """A request for an answer to the user's words. The answer may still be withdrawn. If the answer
    is a remark, it already has its text."""

    answer: SpeculativeAnswer


@dataclass
class AnswerClausesFrame(DataFrame):
    """The next clauses of an answer."""

    answer: SpeculativeAnswer
    clauses: tuple[Clause, ...]


@dataclass
class AnswerEndFrame(DataFrame):
    """The end of an answer's text or sound."""

    answer: SpeculativeAnswer


class TimedWord(NamedTuple):
    """A word that ends at sample `end_sample` of the audio. Once the word has been heard, the
    answer's text up to `source_end` counts as heard."""

    end_sample: int
    source_end: int


@dataclass
class ClauseAudioFrame(DataFrame):
    """Audio of a clause or part of it, with the words that end in this audio."""

    answer: SpeculativeAnswer
    samples: Samples
    words: tuple[TimedWord, ...]
