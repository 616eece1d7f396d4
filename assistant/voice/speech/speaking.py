"""The pipeline's step after `thinking`: turns an answer's clauses into sound while the language
model writes the next ones."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import Notice, Severity
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerClausesFrame, ClauseAudioFrame, TimedWord
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.clauses import Clause, SpokenWord
from assistant.voice.voice_control import VoiceControl
from models.interfaces import LanguageModel, SpokenPiece, TextToSpeech

logger = logging.getLogger(__name__)


class Speak(FrameProcessor):
    """Synthesizes each clause of the answer. Without `tts`, passes on only the words."""

    def __init__(
        self,
        tts: TextToSpeech | None,
        llm: LanguageModel,
        dialogue: Dialogue,
        control: VoiceControl,
    ) -> None:
        super().__init__(name="speak")
        self._llm = llm
        self._tts = tts
        self._control = control
        self._dialogue = dialogue
        self._answer: SpeculativeAnswer | None = None
        self._first = True
        """Whether the answer's first sound has yet to be synthesized."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, AnswerClausesFrame):
            if self._answer is not frame.answer:
                self._answer, self._first = frame.answer, True
            for clause in frame.clauses:
                await self._speak(frame.answer, clause)
        else:
            if isinstance(frame, InterruptionFrame):
                self._answer = None
            await self.push_frame(frame, direction)

    async def _speak(self, answer: SpeculativeAnswer, clause: Clause) -> None:
        passed_on = 0
        if self._tts is not None:
            try:
                passed_on = await self._synthesize(self._tts, answer, clause)
            except ModelError as error:
                logger.error("speech failed: %s", type(error).__name__)
                self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
        # Words without audio count as heard once the words before them have been heard.
        rest = tuple(TimedWord(0, word.source_end) for word in clause.words[passed_on:])
        if rest:
            await self.push_frame(ClauseAudioFrame(answer, np.empty(0, dtype=np.int16), rest))

    async def _synthesize(
        self, tts: TextToSpeech, answer: SpeculativeAnswer, clause: Clause
    ) -> int:
        """Synthesize the clause and pass on each piece of audio with its words. Return the number
        of words passed on."""
        tts.speed = self._control.speed
        pieces = tts.synthesize(clause.spoken)
        before, passed_on = 0, 0
        while True:
            # The language model pauses for the first sound, because the user is waiting for it.
            hold = self._llm.hold() if self._first else nullcontext()
            self._first = False
            with hold:
                piece = await asyncio.to_thread(next, pieces, None)
            if piece is None:
                return passed_on
            words = _timed(clause.words[passed_on:], piece, before, tts.sample_rate)
            await self.push_frame(ClauseAudioFrame(answer, piece.samples, words))
            before += len(piece.samples)
            passed_on += len(words)


def _timed(
    words: Sequence[SpokenWord], piece: SpokenPiece, before: int, rate: int
) -> tuple[TimedWord, ...]:
    """Return the words at the start of `words` that end in this piece of audio, with their times.
    The time of a span of text applies to every word that ends within the span.

    Args:
        before: number of samples of the clause that precede this piece.
        rate: samples per second.
    """
    timed: list[TimedWord] = []
    for word in words:
        end_s = next((time.end_s for time in piece.words if time.end >= word.spoken_end), None)
        if end_s is None:
            break
        end = round(end_s * rate) - before
        timed.append(TimedWord(min(max(end, 0), len(piece.samples)), word.source_end))
    return tuple(timed)
