"""recall → *think*: builds the prompt and streams the answer."""

import asyncio
import logging
import time
from contextlib import aclosing

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import AnswerText, Notice, Severity
from assistant.settings import Llm
from assistant.voice.attempt import LEAST_MEASURED, Attempt
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerEndFrame, AnswerTextFrame, AttemptFrame
from models.interfaces import Generation, LanguageModel

logger = logging.getLogger(__name__)

APOLOGY = "Sorry, I lost my train of thought. Please say that again."


class Think(FrameProcessor):
    """Streams the language model's answer. An interruption cancels it at any point."""

    def __init__(self, llm: LanguageModel, dialogue: Dialogue, settings: Llm) -> None:
        super().__init__(name="think")
        self._llm = llm
        self._dialogue = dialogue
        self._settings = settings
        self.busy = False
        """An answer is being prepared or written."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, AttemptFrame):
            await self.push_frame(frame, direction)
        elif frame.attempt.remark:
            await self._say(frame.attempt, frame.attempt.answer)
            await self.push_frame(AnswerEndFrame(frame.attempt))
        else:
            await self._answer(frame.attempt)

    async def _answer(self, attempt: Attempt) -> None:
        self.busy = True
        try:
            await self._answered(attempt)
        finally:
            self.busy = False

    async def _answered(self, attempt: Attempt) -> None:
        await self._dialogue.settled()
        try:
            generation = await self._dialogue.begin(attempt)
            await self._stream(attempt, generation)
        except Exception as error:
            logger.exception("the answer failed")
            await self._apologise(attempt, error)
        await self.push_frame(AnswerEndFrame(attempt))
        attempt.when_confirmed(lambda: self._dialogue.written(attempt))

    async def _stream(self, attempt: Attempt, generation: Generation) -> None:
        began, first = time.monotonic(), 0.0
        async with (
            asyncio.timeout(self._settings.timeout_s) as limit,
            aclosing(self._llm.stream(generation)) as chunks,
        ):
            async for chunk in chunks:
                if chunk.usage is not None:
                    attempt.read_tokens = chunk.usage.read_tokens
                    self._dialogue.has_read(chunk.usage.read_tokens, first - began)
                    if chunk.usage.generated_tokens >= LEAST_MEASURED:
                        taken = time.monotonic() - first
                        attempt.tokens_per_s = round(chunk.usage.generated_tokens / taken, 1)
                if not chunk.text:
                    continue
                attempt.marks.stamp("first_token")
                first = first or time.monotonic()
                limit.reschedule(asyncio.get_running_loop().time() + self._settings.timeout_s)
                attempt.answer += chunk.text
                await self._write(attempt, chunk.text)

    async def _say(self, attempt: Attempt, text: str) -> None:
        attempt.answer = text
        await self._write(attempt, text)

    async def _write(self, attempt: Attempt, text: str) -> None:
        if not attempt.remark:  # a remark is reported as a whole
            attempt.when_confirmed(lambda: self._dialogue.emit(AnswerText(attempt.turn, text)))
        await self.push_frame(AnswerTextFrame(attempt, text))

    async def _apologise(self, attempt: Attempt, error: Exception) -> None:
        if isinstance(error, ModelError):
            notice = Notice(str(error), Severity.ERROR, error.mend)
        elif not isinstance(error, TimeoutError):
            notice = Notice(
                f"The answer failed ({type(error).__name__}). See the log for details.",
                Severity.ERROR,
            )
        else:
            notice = Notice(
                f"The language model produced no text for {self._settings.timeout_s:g} s.",
                Severity.ERROR,
                mend="Choose a smaller model (assistant models list), or raise llm.timeout_s.",
            )
        attempt.when_confirmed(lambda: self._dialogue.emit(notice))
        apology = f" {APOLOGY}" if attempt.answer else APOLOGY
        attempt.answer += apology
        await self._write(attempt, apology)
