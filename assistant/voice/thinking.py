"""The pipeline's step after `recalling`: builds the prompt and streams the language model's answer,
or passes on a fixed answer to a question that can't be answered."""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import partial

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import AnswerText, Notice, Severity
from assistant.settings import Llm
from assistant.voice.answer_check import AnswerCheck, CheckedText
from assistant.voice.claims import ClaimDetector
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerClausesFrame, AnswerEndFrame, AnswerRequestFrame
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.clauses import clauses_of
from models.interfaces import Generation, LanguageModel

logger = logging.getLogger(__name__)

LEAST_MEASURED = 16
"""Minimum number of tokens written for a measurement of the model's speed."""
APOLOGY = "Sorry, I lost my train of thought. Please say that again."


class Think(FrameProcessor):
    """Streams the language model's answer. An interruption cancels the answer at any point.

    Args:
        detector: detects answers that claim an act; None if there is no model for it.
        language: the setting `persona.language`.
    """

    def __init__(
        self,
        llm: LanguageModel,
        dialogue: Dialogue,
        settings: Llm,
        detector: ClaimDetector | None = None,
        language: str = "en",
    ) -> None:
        super().__init__(name="think")
        self._detector = detector
        self._language = language
        self._llm = llm
        self._dialogue = dialogue
        self._settings = settings
        self._pending = 0.0
        """The probability that an earlier turn asked for an act, if the assistant replied with a
        question."""
        self.busy = False
        """Whether an answer is being prepared or written."""

    async def cleanup(self) -> None:
        await super().cleanup()
        if self._detector is not None:
            self._detector.close()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, AnswerRequestFrame):
            await self.push_frame(frame, direction)
        elif frame.answer.remark:
            clauses = tuple(clauses_of(frame.answer.text, self._language))
            await self.push_frame(AnswerClausesFrame(frame.answer, clauses))
            await self.push_frame(AnswerEndFrame(frame.answer))
        else:
            self.busy = True
            try:
                await self._answer(frame.answer)
            finally:
                self.busy = False

    async def _answer(self, answer: SpeculativeAnswer) -> None:
        await self._dialogue.settled()
        check = AnswerCheck(
            self._detector, self._language, answer.user_text, self._pending, answer.classified
        )
        try:
            asked = await self._dialogue.begin(answer)
            if isinstance(asked, str):
                await self._write(answer, check.end_with(asked))
            else:
                await self._stream(answer, asked, check)
        except Exception as error:
            logger.exception("the answer failed")
            answer.when_confirmed(partial(self._dialogue.emit, self._notice(error)))
            await self._write(answer, check.end_with(APOLOGY))
        await self.push_frame(AnswerEndFrame(answer))
        answer.when_confirmed(lambda: self._dialogue.written(answer))
        asks_back = answer.text.rstrip().endswith("?")
        pending = await check.request() if asks_back else 0.0
        answer.when_confirmed(partial(self._wait_for_more, pending))

    def _wait_for_more(self, pending: float) -> None:
        self._pending = pending

    async def _stream(
        self, answer: SpeculativeAnswer, generation: Generation, check: AnswerCheck
    ) -> None:
        began, first = time.monotonic(), 0.0
        async with (
            asyncio.timeout(self._settings.timeout_s) as limit,
            aclosing(self._llm.stream(generation)) as chunks,
        ):
            async for chunk in chunks:
                if chunk.usage is not None:
                    answer.read_tokens = chunk.usage.read_tokens
                    self._dialogue.reading.note(chunk.usage.read_tokens, first - began)
                    if first and chunk.usage.generated_tokens >= LEAST_MEASURED:
                        taken = time.monotonic() - first
                        answer.tokens_per_s = round(chunk.usage.generated_tokens / taken, 1)
                if not chunk.text:
                    continue
                answer.times.stamp("first_token")
                first = first or time.monotonic()
                limit.reschedule(asyncio.get_running_loop().time() + self._settings.timeout_s)
                for piece in await check.feed(chunk.text):
                    await self._write(answer, piece)
                if check.ended:
                    return
        for piece in await check.finish():
            await self._write(answer, piece)

    async def _write(self, answer: SpeculativeAnswer, piece: CheckedText) -> None:
        answer.text += piece.text
        answer.when_confirmed(lambda: self._dialogue.emit(AnswerText(answer.turn, piece.text)))
        await self.push_frame(AnswerClausesFrame(answer, piece.clauses))

    def _notice(self, error: Exception) -> Notice:
        if isinstance(error, ModelError):
            return Notice(str(error), Severity.ERROR, error.mend)
        if isinstance(error, TimeoutError):
            return Notice(
                f"The language model produced no text for {self._settings.timeout_s:g} s.",
                Severity.ERROR,
                mend="Choose a smaller model (assistant models list), or raise llm.timeout_s.",
            )
        return Notice(
            f"The answer failed ({type(error).__name__}). See the log for details.",
            Severity.ERROR,
        )
