"""The interfaces of the engines.

The rest of the program knows only these. Speech-to-text, text-to-speech and the sentence encoder
are blocking calls that release the GIL (call them with `asyncio.to_thread`). The language model is
asynchronous, since it streams and runs in another process or on another machine.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class WordTime(NamedTuple):
    """The word `text[start:end]` is heard from `start_s` to `end_s`, in seconds of the audio."""

    start: int
    end: int
    start_s: float
    end_s: float


Samples = NDArray[np.int16]
"""Mono PCM, shape (n,), 16-bit."""

STT_SAMPLE_RATE = 16_000
"""Sample rate, in Hz, of the audio that `SpeechToText.transcribe` takes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message, as a chat template takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


class Lane(StrEnum):
    """Who a generation is for. Each lane has its own KV cache."""

    CONVERSATION = "conversation"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Generation:
    """A request to a language model.

    With `max_tokens` 0, the messages are only read into the lane's KV cache. `json_schema`
    constrains the output by a grammar, so that it parses and conforms.
    """

    messages: Sequence[Message]
    max_tokens: int = 256
    temperature: float = 0.7
    json_schema: Mapping[str, Any] | None = None
    lane: Lane = Lane.CONVERSATION


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a generation took, as counted by the engine.

    `read_tokens` were processed for this request and `cached_tokens` came from the KV cache;
    together they are the prompt. Engines that don't distinguish them report all as read.
    """

    read_tokens: int
    cached_tokens: int
    generated_tokens: int

    @property
    def prompt_tokens(self) -> int:
        return self.read_tokens + self.cached_tokens


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a streamed answer. The last piece has the usage instead of text."""

    text: str
    usage: Usage | None = None


class LanguageModel(Protocol):
    """A chat model that streams.

    Every method may raise `ModelFailed`, with a `mend` for the user.
    """

    name: str

    @property
    def context_tokens(self) -> int:
        """Size of one lane's window: prompt and answer together."""

    async def load(self) -> None:
        """Load the model; returns once it can answer. Idempotent."""

    def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        """Generate an answer. Closing the generator cancels at once, even while reading."""

    def count(self, text: str) -> int:
        """Tokens of `text` inside a message, in the model's own vocabulary, without any
        template."""

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of `messages` rendered by the chat template, including the answer's opening."""

    def hold(self) -> AbstractContextManager[None]:
        """Leave the processor to other work during the block, if possible and useful."""

    async def close(self) -> None:
        """Release memory and processes. Idempotent."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """The recogniser's text for a segment of audio, with its own measures of doubt.

    `no_speech` is the probability of silence, in [0, 1]; `log_probability` is the mean per token
    (0 is certain).
    """

    text: str
    no_speech: float = 0.0
    log_probability: float = 0.0


class SpeechToText(Protocol):
    name: str

    def load(self) -> None: ...

    def transcribe(self, audio: Samples) -> Transcription:
        """Transcribe 16 kHz mono audio of at most 30 s. Blocking; thread-safe."""


class SpokenPiece(NamedTuple):
    """A piece of spoken text: its audio, and the words that end in it.

    Word times count from the beginning of the whole text's audio, not of this piece.
    """

    samples: Samples
    words: list[WordTime]


class TextToSpeech(Protocol):
    name: str

    @property
    def sample_rate(self) -> int:
        """Sample rate, in Hz, of what `synthesize` yields; known after `load`."""

    def load(self) -> None: ...

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        """Speak `text` piece by piece, the first one soon; each word ends in exactly one piece.

        Yields nothing if there is nothing to say. Blocking; thread-safe.
        """


class SentenceEncoder(Protocol):
    name: str

    @property
    def dimensions(self) -> int: ...

    def load(self) -> None: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions). Blocking; thread-safe."""


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The models of one running assistant."""

    stt: SpeechToText
    llm: LanguageModel
    tts: TextToSpeech
