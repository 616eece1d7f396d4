"""Fakes of models and devices, for tests of the voice loop's own logic.

For each fake, tests/real has a test of the real model or device.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from models.interfaces import (
    Chunk,
    Generation,
    Lane,
    Message,
    Samples,
    SpokenPiece,
    Transcription,
    Usage,
)
from models.tts.alignment import PhonemeGroup, align_words

RATE = 16_000


def speech(seconds: float) -> Samples:
    """Loud noise, which `LoudVoice` considers a voice."""
    rng = np.random.default_rng(int(seconds * 1000))
    return (rng.normal(0, 4000, int(seconds * RATE))).astype(np.int16)


def silence(seconds: float) -> Samples:
    rng = np.random.default_rng(1)
    return (rng.normal(0, 3, int(seconds * RATE))).astype(np.int16)


def sound(*seconds: float) -> Samples:
    """Alternating speech and silence of these lengths."""
    makes = (speech, silence)
    return np.concatenate([makes[at % 2](each) for at, each in enumerate(seconds)])


UTTERANCE = sound(0.8, 0.6)


class LoudVoice:
    """A voice detector that considers every loud sound a voice."""

    def probability(self, window: Samples) -> float:
        return 0.97 if float(np.abs(window).mean()) > 500 else 0.01


class ScriptedEnd:
    """A turn detector with scripted verdicts; after the last one, every turn is complete."""

    def __init__(self, *verdicts: float) -> None:
        self.verdicts = list(verdicts)

    def probability(self, samples: Samples) -> float:
        del samples
        return self.verdicts.pop(0) if self.verdicts else 0.99


class UnfinishedWords:
    """Judges words as complete and as interrupting, except those that are listed.

    Args:
        listens: words that only show that somebody listens.
    """

    def __init__(self, *unfinished: str, listens: Sequence[str] = ()) -> None:
        self.unfinished = unfinished
        self.listens = listens
        self.questions: list[str] = []

    def load(self) -> None:
        pass

    def complete(self, words: str, question: str = "") -> float:
        self.questions.append(question)
        return -4.0 if words in self.unfinished else 3.0

    def interrupts(self, words: str, spoken: str) -> float:
        del spoken
        return -3.0 if words in self.listens else 3.0


class ScriptedStt:
    """Transcribes audio as scripted: one text per call, and the last one repeatedly. A draft
    contains the next text, and doesn't use it up.

    With `by_length`, the text depends on the seconds of audio instead.
    """

    name = "scripted-stt"

    def __init__(
        self,
        *texts: str,
        delay_s: float = 0.02,
        by_length: Callable[[float], str] | None = None,
        no_speech: float = 0.02,
    ) -> None:
        self.texts = list(texts)
        self.delay_s = delay_s
        self.by_length = by_length
        self.no_speech = no_speech
        self.heard: list[float] = []
        self.drafts: list[float] = []

    def load(self) -> None:
        """Nothing to load."""

    def transcribe(self, audio: Samples, *, draft: bool = False) -> Transcription:
        time.sleep(self.delay_s)
        seconds = len(audio) / RATE
        (self.drafts if draft else self.heard).append(seconds)
        if self.by_length is not None:
            text = self.by_length(seconds)
        else:
            text = self.texts.pop(0) if len(self.texts) > 1 and not draft else self.texts[0]
        return Transcription(text, no_speech=self.no_speech, log_probability=-0.2)


class ScriptedLlm:
    """Streams scripted replies word by word, and records every request."""

    name = "scripted-llm"
    context_tokens = 4096

    def __init__(self, *replies: str | Exception, token_s: float = 0.004) -> None:
        self.replies: list[str | Exception] = list(replies)
        self.token_s = token_s
        self.requests: list[Generation] = []
        self.read_ahead: list[Sequence[Message]] = []
        self.cancelled = 0

    async def load(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        if request.max_tokens == 0:
            self.read_ahead.append(request.messages)
            yield Chunk("", Usage(0, 0, 0))
            return
        if request.lane is Lane.CONVERSATION:
            self.requests.append(request)
        reply = self.replies.pop(0) if self.replies else "Okay."
        if isinstance(reply, Exception):
            raise reply
        words = reply.split(" ")
        try:
            for number, word in enumerate(words):
                await asyncio.sleep(self.token_s)
                yield Chunk(word if number == 0 else f" {word}")
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled += 1
            raise
        yield Chunk("", Usage(10, 5, len(words)))

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, text: str) -> int:
        return len(text.split())

    def count_messages(self, messages: Sequence[Message]) -> int:
        return sum(self.count(message.content) + 4 for message in messages) + 3


class ToneTts:
    """Speaks a tone that lasts `pace` seconds per character."""

    name = "tone"
    sample_rate = 16_000
    speed = 1.0

    def __init__(self, pace: float = 0.05) -> None:
        self._pace = pace

    def load(self) -> None:
        """Nothing to load."""

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        """Yield the tone in two pieces, like a streaming voice."""
        count = int(self._pace / self.speed * len(text) * self.sample_rate)
        wave = np.sin(np.arange(count) * 2 * np.pi * 220 / self.sample_rate)
        samples = (wave * 8000).astype(np.int16)
        times = align_words(text, [PhonemeGroup(1, 0.0, count / self.sample_rate)])
        cut = count // 2
        cut_s = cut / self.sample_rate
        yield SpokenPiece(samples[:cut], [time for time in times if time.end_s <= cut_s])
        yield SpokenPiece(samples[cut:], [time for time in times if time.end_s > cut_s])
