"""Interfaces of the models that the assistant runs.

The rest of the program uses models only through these interfaces. Speech-to-text, text-to-speech
and the sentence encoder have blocking methods that release the GIL; call them with
`asyncio.to_thread`. The language model is asynchronous, because it streams its answers and often
runs in another process or on another machine.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class WordTime(NamedTuple):
    """The time at which the word `text[start:end]` is heard, in seconds from the start of the
    audio."""

    start: int
    end: int
    start_s: float
    end_s: float


Samples = NDArray[np.int16]
"""Mono PCM audio, 16-bit, shape (n,)."""

STT_SAMPLE_RATE = 16_000
"""Sample rate, in Hz, of the audio that `SpeechToText.transcribe` takes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message, in the form that chat templates take."""

    role: Literal["system", "user", "assistant"]
    content: str


class Lane(StrEnum):
    """The purpose of a generation. Each lane has its own KV cache."""

    CONVERSATION = "conversation"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Generation:
    """A request to a language model.

    Attributes:
        max_tokens: maximum length of the answer. With 0, the messages are only read into the lane's
            KV cache.
        json_schema: schema of the answer. A grammar constrains the output, so that it always
            conforms to the schema.
        urgent: whether the user is waiting for the answer. Otherwise, a prompt in the background
            lane is read slowly, so that it doesn't hold up the conversation.
    """

    messages: Sequence[Message]
    max_tokens: int = 256
    temperature: float = 0.7
    json_schema: Mapping[str, Any] | None = None
    lane: Lane = Lane.CONVERSATION
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The numbers of tokens that a request used, as counted by the engine.

    Attributes:
        read_tokens: tokens of the prompt that were processed for this request. Engines that don't
            report cached tokens count the whole prompt here.
        cached_tokens: tokens of the prompt that were in the KV cache.
        generated_tokens: tokens of the answer.
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
    """A chat model that streams its answers.

    Every method may raise `ModelError`. Its `mend`, if set, says what the user can do.
    """

    name: str

    @property
    def context_tokens(self) -> int:
        """Maximum number of tokens in a lane, prompt and answer together."""

    async def load(self) -> None:
        """Load the model; return when it can answer. Idempotent."""

    def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        """Generate an answer, and yield it in pieces.

        Closing the generator cancels the request at once, even while the model still reads the
        prompt.
        """

    def count(self, text: str) -> int:
        """Return the number of tokens of `text` inside a message.

        The model's own vocabulary is used. The chat template's tokens are not included.
        """

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Return the number of tokens of `messages` in the chat template.

        The opening of the answer is included.
        """

    def hold(self) -> AbstractContextManager[None]:
        """Pause the model during the `with` block, if that helps other work to run faster."""

    async def close(self) -> None:
        """Release the model's memory and processes. Idempotent."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """The text recognised in a segment of audio, and how uncertain the recogniser is.

    Attributes:
        no_speech: probability that the segment has no speech, in [0, 1].
        log_probability: mean log probability per token; 0 is certain.
    """

    text: str
    no_speech: float = 0.0
    log_probability: float = 0.0


class SpeechToText(Protocol):
    name: str

    def load(self) -> None: ...

    def transcribe(self, audio: Samples, *, draft: bool = False) -> Transcription:
        """Transcribe 16 kHz mono audio of at most 30 s. A `draft` should come soon rather than be
        as good as possible. Blocking; thread-safe."""


class SpokenPiece(NamedTuple):
    """A piece of a text's audio, and the words that end in this piece.

    Word times count from the beginning of the whole text's audio, not of this piece.
    """

    samples: Samples
    words: list[WordTime]


class TextToSpeech(Protocol):
    name: str
    speed: float
    """Speed of the texts that are synthesized from now on. 1.0 is the voice's own pace, and 2.0 is
    twice as fast."""

    @property
    def sample_rate(self) -> int:
        """Sample rate of the audio, in Hz; known after `load`."""

    def load(self) -> None: ...

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        """Speak `text`, and yield its audio piece by piece. The first piece comes soon.

        Each word ends in exactly one piece. Yields nothing if there is nothing to say. Blocking;
        thread-safe.
        """


class SentenceEncoder(Protocol):
    name: str

    @property
    def dimensions(self) -> int: ...

    def load(self) -> None: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of the texts, shape (len(texts), dimensions). Blocking;
        thread-safe."""


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The models that a running assistant uses for conversation."""

    stt: SpeechToText
    llm: LanguageModel
    tts: TextToSpeech


@dataclass(frozen=True, slots=True)
class ClassifiedText:
    """The result of classifying an utterance: which command to the assistant it may be.

    Attributes:
        probabilities: the probability of each kind of command, by its name in
            `assistant.intents.CommandKind`. Their sum is at most 1. The rest is the probability
            that the utterance is not a command.
        words, when, name: the command's arguments, exactly as they stand in the utterance; None for
            a missing argument. `assistant.intents.Command` explains them.
        live: the probability that the utterance asks for something that only somebody with internet
            access could know (tomorrow's weather).
        unseen: the probability that it asks for something that only an eyewitness could know (what
            is in the fridge).
        told: the probability that it asks for a fact about the user's life that only the user can
            have told (the sister's surname). Independent of the others.
    """

    probabilities: Mapping[str, float]
    words: str | None = None
    when: str | None = None
    name: str | None = None
    live: float = 0.0
    unseen: float = 0.0
    told: float = 0.0

    @property
    def unknowable(self) -> float:
        """The probability that the assistant can't know what the utterance asks for."""
        return self.live + self.unseen


class IntentClassifier(Protocol):
    """Decides whether an utterance is a command to the assistant itself, and which kind of command.
    Also judges whether it asks for something that the assistant can't know."""

    def load(self) -> None:
        """Load the model; blocking, idempotent.

        Raises:
            ModelError: the model is missing or damaged.
        """

    def classify(self, text: str) -> ClassifiedText:
        """Classify an utterance. Takes a few milliseconds.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """


class SlotAct(StrEnum):
    """What an utterance says about a slot of a form. UNKNOWN: the user doesn't know the answer,
    doesn't want to give it, or takes it back. EMPTY: a list has no items."""

    NOTHING = "nothing"
    VALUE = "value"
    UNKNOWN = "unknown"
    YES = "yes"
    NO = "no"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class DescribedSlot:
    """A slot as the model reads it: a text that says what the slot asks for, and any options."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlotWords:
    """Words of an utterance, as a range of characters [start, end). `removed` is set for an item
    that is to be removed from a list."""

    start: int
    end: int
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ReadSlot:
    """What an utterance says about a slot.

    Attributes:
        acts: the probability of each act. Their sum is 1.
        words: the words that express the slot's value. For a list, these are its items.
        options: the probability that each option is chosen.
    """

    acts: Mapping[SlotAct, float]
    words: tuple[SlotWords, ...]
    options: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ReadUtterance:
    """What an utterance says about slots, in the slots' order. `talk` is the probability that it
    also says something else that calls for a response."""

    slots: tuple[ReadSlot, ...]
    talk: float


class SlotReader(Protocol):
    """Finds the values of a form's slots in an utterance."""

    def load(self) -> None:
        """Load the model; blocking, idempotent.

        Raises:
            ModelError: the model is missing or damaged.
        """

    def read(self, text: str, slots: Sequence[DescribedSlot]) -> ReadUtterance:
        """Read an utterance. Takes some 20 ms for ten slots.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """


class TurnJudge(Protocol):
    """Judges whether a speaker's words are complete, and whether they interrupt the assistant.

    It was trained as if both answers were equally likely. A judgement takes about two milliseconds.
    """

    def load(self) -> None:
        """Load the model; blocking, idempotent.

        Raises:
            ModelError: the model is missing or damaged.
        """

    def complete(self, words: str, question: str = "") -> float:
        """Return the log-odds that nothing more follows, given the words so far and the assistant's
        question that they may answer. 0 if there are no words.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """

    def interrupts(self, words: str, spoken: str) -> float:
        """Return the log-odds that these words, said while the assistant speaks, ask it to stop.
        Otherwise they only show that somebody listens, or are meant for somebody else. 0 if there
        are no words.

        Args:
            spoken: what the assistant has said so far.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """


class Reranker(Protocol):
    """Judges which recalled memories answer a question."""

    def load(self) -> None:
        """Load the model; blocking, idempotent.

        Raises:
            ModelError: the model is missing or damaged.
        """

    def judge(self, question: str, memories: Sequence[str]) -> list[float]:
        """Return, for each memory, the probability that it answers the question. A partial answer
        counts, and so does one that may be outdated by now. Takes a few milliseconds per memory.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """

    def outdated(self, question: str, older: str, newer: str) -> float:
        """Given two memories that answer the question, return the probability that the newer one
        makes the older one outdated. Takes a few milliseconds.

        Raises:
            ModelFailed: the model is not loaded, or failed.
        """
