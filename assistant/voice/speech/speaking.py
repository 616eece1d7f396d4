"""think → *speak*: turns an answer's first clause into sound while the rest is being written."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from loguru import logger
from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import Notice, Severity
from assistant.voice.attempt import Attempt
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerEndFrame, AnswerTextFrame, ClauseAudioFrame, TimedWord
from assistant.voice.speech.clauses import Clause, ClauseSplitter, SpokenWord
from models.interfaces import LanguageModel, SpokenPiece, TextToSpeech


class Speak(FrameProcessor):
    """Cuts the answer into clauses and synthesizes each; without a voice, passes on words alone."""

    def __init__(
        self, tts: TextToSpeech | None, llm: LanguageModel, dialogue: Dialogue, language: str
    ) -> None:
        super().__init__(name="speak")
        self._llm = llm
        self._first = True
        self._language = language
        self._tts = tts
        self._dialogue = dialogue
        self._attempt: Attempt | None = None
        self._splitter = ClauseSplitter()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, AnswerTextFrame):
            for clause in self._of(frame.attempt).feed(frame.text):
                await self._speak(frame.attempt, clause)
        elif isinstance(frame, AnswerEndFrame):
            for clause in self._of(frame.attempt).finish():
                await self._speak(frame.attempt, clause)
            await self.push_frame(frame)
        else:
            if isinstance(frame, InterruptionFrame):
                self._attempt = None
            await self.push_frame(frame, direction)

    def _of(self, attempt: Attempt) -> ClauseSplitter:
        if self._attempt is not attempt:
            self._attempt, self._splitter = attempt, ClauseSplitter(self._language)
            self._first = True
        return self._splitter

    async def _speak(self, attempt: Attempt, clause: Clause) -> None:
        said = 0
        if self._tts is not None:
            try:
                said = await self._synthesize(self._tts, attempt, clause)
            except ModelError as error:
                logger.error("speech failed: {}", type(error).__name__)
                self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
        # Words without audio of their own count as spoken once all the others have been.
        rest = tuple(TimedWord(word, 0) for word in clause.words[said:])
        if rest:
            await self.push_frame(ClauseAudioFrame(attempt, np.empty(0, dtype=np.int16), rest))

    async def _synthesize(self, tts: TextToSpeech, attempt: Attempt, clause: Clause) -> int:
        """Synthesize the clause piece by piece; returns how many words were passed on."""
        pieces = tts.synthesize(clause.spoken)
        before, said = 0, 0
        while True:
            # The answer's first sound gets the processor to itself: the user is waiting for it.
            hold = self._llm.hold() if self._first else nullcontext()
            self._first = False
            with hold:
                piece = await asyncio.to_thread(next, pieces, None)
            if piece is None:
                return said
            words = _timed(clause.words[said:], piece, before, tts.sample_rate)
            await self.push_frame(ClauseAudioFrame(attempt, piece.samples, words))
            before += len(piece.samples)
            said += len(words)


def _timed(
    words: Sequence[SpokenWord], piece: SpokenPiece, before: int, rate: int
) -> tuple[TimedWord, ...]:
    """The first of `words` that end in this piece, which starts `before` samples into the clause.

    A time given for a span of text applies to every word that ends within it.
    """
    timed: list[TimedWord] = []
    for word in words:
        end_s = next((time.end_s for time in piece.words if time.end >= word.spoken_end), None)
        if end_s is None:
            break
        end = round(end_s * rate) - before
        timed.append(TimedWord(word, min(max(end, 0), len(piece.samples))))
    return tuple(timed)
