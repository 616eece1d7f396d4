"""think → *speak*: the answer's first clause is sound while the rest is still being written."""

import asyncio
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
from assistant.voice.speech_text import Clause, ClauseSplitter, estimate_word_times
from models.alignment import WordTime
from models.interfaces import LanguageModel, Samples, TextToSpeech


class Speak(FrameProcessor):
    """Cuts the answer into clauses and synthesizes each; without a voice, passes words alone."""

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
        samples: Samples = np.empty(0, dtype=np.int16)
        words = tuple(TimedWord(word, 0) for word in clause.words)
        if self._tts is not None:
            try:
                samples, times = await self._synthesized(self._tts, clause.spoken)
            except ModelError as error:
                logger.error("speech failed: {}", type(error).__name__)
                self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
            else:
                rate = self._tts.sample_rate
                times = times or estimate_word_times(clause.spoken, samples, rate)
                words = _timed(clause, times, rate, len(samples))
        await self.push_frame(ClauseAudioFrame(attempt, samples, words))

    async def _synthesized(self, tts: TextToSpeech, text: str) -> tuple[Samples, list[WordTime]]:
        """The first clause has the processor for itself: it is what the user waits for."""
        hold = self._llm.hold() if self._first else nullcontext()
        self._first = False
        with hold:
            return await asyncio.to_thread(tts.synthesize_timed, text)


def _timed(clause: Clause, times: list[WordTime], rate: int, length: int) -> tuple[TimedWord, ...]:
    """When each word of the clause has been heard, in samples from the clause's start.

    Times of a stretch of text count for every word that ends within it.
    """
    timed: list[TimedWord] = []
    for word in clause.words:
        end_s = next((time.end_s for time in times if time.end >= word.spoken_end), None)
        end = length if end_s is None else min(length, round(end_s * rate))
        timed.append(TimedWord(word, end))
    return tuple(timed)
