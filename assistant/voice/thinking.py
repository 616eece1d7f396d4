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
from assistant.voice.claims import AnswerCheck, CheckedText, ClaimDetector
from assistant.voice.cache_warming import LEAST_MEASURED
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerEndFrame, AnswerRequestFrame, AnswerTextFrame
from assistant.voice.speculation import SpeculativeAnswer
from models.interfaces import Generation, LanguageModel

logger = logging.getLogger(__name__)

APOLOGY = "Sorry, I lost my train of thought. Please say that again."


class Think(FrameProcessor):
    """Streams the language model's answer. An interruption cancels the answer at any point.

    Args:
        detector: ends answers that claim an act. If None, answers aren't checked.
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
            await self.push_frame(AnswerTextFrame(frame.answer, frame.answer.text))
            await self.push_frame(AnswerEndFrame(frame.answer))
        else:
            self.busy = True
            try:
                await self._answer(frame.answer)
            finally:
                self.busy = False

    async def _answer(self, answer: SpeculativeAnswer) -> None:
        await self._dialogue.settled()
        check = self._check(answer)
        try:
            asked = await self._dialogue.begin(answer)
            if isinstance(asked, str):
                await self._write(answer, asked)
            else:
                await self._stream(answer, asked, check)
        except Exception as error:
            logger.exception("the answer failed")
            answer.when_confirmed(partial(self._dialogue.emit, self._notice(error)))
            if check is not None:
                await self._write(answer, check.end_with(APOLOGY))
            else:
                await self._write(answer, f" {APOLOGY}" if answer.text else APOLOGY)
        await self.push_frame(AnswerEndFrame(answer))
        answer.when_confirmed(lambda: self._dialogue.written(answer))
        if check is not None:
            asks_back = answer.text.rstrip().endswith("?")
            pending = await check.request() if asks_back else 0.0
            answer.when_confirmed(partial(self._wait_for_more, pending))

    def _check(self, answer: SpeculativeAnswer) -> AnswerCheck | None:
        if self._detector is None:
            return None
        return AnswerCheck(
            self._detector, self._language, answer.user_text, self._pending, answer.classified
        )

    def _wait_for_more(self, pending: float) -> None:
        self._pending = pending

    async def _stream(
        self, answer: SpeculativeAnswer, generation: Generation, check: AnswerCheck | None
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
                if check is None:
                    await self._write(answer, chunk.text)
                    continue
                for piece in await check.feed(chunk.text):
                    await self._write(answer, piece)
                if check.ended:
                    return
        for piece in await check.finish() if check is not None else ():
            await self._write(answer, piece)

    async def _write(self, answer: SpeculativeAnswer, piece: str | CheckedText) -> None:
        text, clauses = (piece, None) if isinstance(piece, str) else (piece.text, piece.clauses)
        answer.text += text
        answer.when_confirmed(lambda: self._dialogue.emit(AnswerText(answer.turn, text)))
        await self.push_frame(AnswerTextFrame(answer, text, clauses))

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
