"""think → *speak*: the answer's first clause is sound while the rest is still being written."""

import asyncio

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
from models.interfaces import Samples, TextToSpeech


class Speak(FrameProcessor):
    """Cuts the answer into clauses and synthesizes each; without a voice, passes words alone."""

    def __init__(self, tts: TextToSpeech | None, dialogue: Dialogue) -> None:
        super().__init__(name="speak")
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
            self._attempt, self._splitter = attempt, ClauseSplitter()
        return self._splitter

    async def _speak(self, attempt: Attempt, clause: Clause) -> None:
        samples: Samples = np.empty(0, dtype=np.int16)
        words = tuple(TimedWord(word, 0) for word in clause.words)
        if self._tts is not None and clause.spoken:
            try:
                samples = await asyncio.to_thread(self._synthesize, self._tts, clause.spoken)
            except ModelError as error:
                logger.error("speech failed: {}", error)
                self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
            else:
                words = _timed(clause, samples, self._tts.sample_rate)
        await self.push_frame(ClauseAudioFrame(attempt, samples, words))

    @staticmethod
    def _synthesize(tts: TextToSpeech, text: str) -> Samples:
        pieces = list(tts.synthesize(text))
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int16)


def _timed(clause: Clause, samples: Samples, rate: int) -> tuple[TimedWord, ...]:
    """When each word of the clause has been heard, in samples from the clause's start."""
    times = estimate_word_times(clause.spoken, samples, rate)
    ends = {time.end: round(time.end_s * rate) for time in times}
    timed, last = [], 0
    for word in clause.words:
        last = next((at for end, at in ends.items() if end >= word.spoken_end), len(samples))
        timed.append(TimedWord(word, min(last, len(samples))))
    return tuple(timed)
