"""The narrow interfaces behind which the engines stand.

The rest of the program knows only these. Speech-to-text, text-to-speech and the sentence encoder
are plain blocking calls that release the GIL (call them with `asyncio.to_thread`); the language
model is asynchronous, since it streams and lives in another process or machine.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class WordTime(NamedTuple):
    """The word `text[start:end]` is heard from `start_s` to `end_s`, seconds into the sound."""

    start: int
    end: int
    start_s: float
    end_s: float


Samples = NDArray[np.int16]
"""Mono PCM, shape (n,), 16-bit."""

STT_SAMPLE_RATE = 16_000
"""Hz; what `SpeechToText.transcribe` takes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat, as a chat template sees it."""

    role: Literal["system", "user", "assistant"]
    content: str


class Lane(StrEnum):
    """Whose work a generation is; each lane has a KV cache of its own."""

    CONVERSATION = "conversation"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Generation:
    """A request to a language model.

    `max_tokens` 0 reads the messages into the lane's KV cache and generates nothing.
    `json_schema` constrains the output by grammar: what comes out parses and fits.
    """

    messages: Sequence[Message]
    max_tokens: int = 256
    temperature: float = 0.7
    json_schema: Mapping[str, Any] | None = None
    lane: Lane = Lane.CONVERSATION
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a generation cost, in tokens, by the engine's own count.

    `read_tokens` were processed for this request, `cached_tokens` came from the KV cache;
    together they are the prompt. Engines that don't say report all as read.
    """

    read_tokens: int
    cached_tokens: int
    generated_tokens: int

    @property
    def prompt_tokens(self) -> int:
        return self.read_tokens + self.cached_tokens


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a streamed answer. The last one has no text, and the usage."""

    text: str
    usage: Usage | None = None


class LanguageModel(Protocol):
    """A chat model that streams.

    Errors: every method may raise `ModelFailed`, with a sentence that names the mend.
    """

    name: str

    @property
    def context_tokens(self) -> int:
        """The window of one lane: prompt and answer together."""

    async def load(self) -> None:
        """Make ready; returns when the model answers. Idempotent."""

    def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        """Generate. Closing the generator cancels at once, also in the middle of reading."""

    def count(self, text: str) -> int:
        """Tokens of `text` as it stands in a message, by the model's own vocabulary, without any
        template."""

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of `messages` rendered by the chat template, the answer's opening included."""

    def hold(self) -> AbstractContextManager[None]:
        """Leave the processor to others within the block, where that is possible and helps."""

    async def close(self) -> None:
        """Release memory and processes. Idempotent."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """What the recogniser made of a stretch of audio, with its own doubts.

    `no_speech` is the probability of silence, in [0, 1]; `log_probability` the mean per token
    (0 is certain); `compression_ratio` above about 2.4 tells of a runaway; `words_per_second`
    counts against the audio's length.
    """

    text: str
    seconds: float
    no_speech: float = 0.0
    log_probability: float = 0.0
    compression_ratio: float = 1.0
    language: str = "en"


class SpeechToText(Protocol):
    name: str

    def load(self) -> None: ...

    def transcribe(self, audio: Samples) -> Transcription:
        """Transcribe 16 kHz mono audio of at most 30 s. Blocking; thread-safe."""


class SpokenPiece(NamedTuple):
    """A piece of a spoken text: its sound, and the words that end in it.

    The words' times count from the beginning of the text's sound, not of the piece.
    """

    samples: Samples
    words: list[WordTime]


class TextToSpeech(Protocol):
    name: str

    @property
    def sample_rate(self) -> int:
        """Hz of what `synthesize` yields; known after `load`."""

    def load(self) -> None: ...

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        """Speak `text` piece by piece, the first one soon; each word of it ends in one piece.

        Nothing to say, no piece. Blocking; thread-safe.
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
