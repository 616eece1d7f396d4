"""The pipeline's step after `intent_routing`: recalls memories for a turn within a deadline.

While the user is still speaking, this step prepares for the words so far: the question is encoded,
which is the slowest part of a recall, and the model reads the prompt that these words would have.
The final words then add little to read, because most of that prompt stays the same.
"""

import asyncio
import logging
from functools import partial
from typing import Protocol

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.context import NotKnown
from assistant.events import Recalled
from assistant.memory import RecalledForTurn
from assistant.settings import Memory
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerRequestFrame, PartialFrame, SpeechDiscardedFrame
from assistant.voice.speculation import SpeculativeAnswer

logger = logging.getLogger(__name__)

HANG_TIMEOUT_S = 0.3
"""Seconds after the deadline at which a hanging recall is abandoned. Normally, a search ends by the
deadline, if necessary with the results of a word search, and its results are judged soon after."""


class Recaller(Protocol):
    """Finds the memories relevant to a turn."""

    def ahead(self, words: str) -> None:
        """Prepare a recall for `words`, which the user has said so far. Returns at once."""

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        """Return the memories relevant to `query` that were found within `deadline_s` seconds, best
        first. The result also says whether the search was cut short.

        Args:
            about_user: whether `query` asks for something that only the user can have told.
            draft: whether `query` is the beginning of what the user is saying.
        """


class Recall(FrameProcessor):
    """Recalls memories once per answer, and for drafts of the user's words. If a recall fails or
    hangs, the answer is written without memories.

    Args:
        recaller: None if the session has no long-term memory.
        settings: contains the deadlines. The deadline of typed turns is longer, because a recall
            can't be prepared while the user types.
    """

    def __init__(self, recaller: Recaller | None, dialogue: Dialogue, settings: Memory) -> None:
        super().__init__(name="recall")
        self._recaller = recaller
        self._dialogue = dialogue
        self._deadline_s = settings.deadline_ms / 1000
        self._typed_deadline_s = max(settings.deadline_ms, settings.typed_deadline_ms) / 1000
        self._drafts = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._drafts.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, PartialFrame):
            self._ahead(frame)
            return
        if isinstance(frame, SpeechDiscardedFrame):
            self._drafts.cancel()
        if isinstance(frame, AnswerRequestFrame) and not frame.answer.remark:
            if self._recaller is not None:
                await self._recall(self._recaller, frame.answer)
            frame.answer.times.stamp("recall")
        await self.push_frame(frame, direction)

    def _ahead(self, frame: PartialFrame) -> None:
        self._drafts.cancel()
        words = self._dialogue.meant_for_me(frame.text)
        if not words:
            return
        if self._recaller is not None:
            try:
                self._recaller.ahead(words)
            except Exception:  # a failure of the memory must not stop the answer
                logger.exception("recall failed")
        if frame.goes_on:
            self._drafts.start(self._draft(words))

    async def _draft(self, words: str) -> None:
        found = RecalledForTurn()
        try:
            if self._recaller is not None:
                async with asyncio.timeout(self._deadline_s + HANG_TIMEOUT_S):
                    found = await self._recaller.recall(words, self._deadline_s, draft=True)
            self._dialogue.read_draft(words, found.memories)
        except TimeoutError:
            return  # what isn't prepared in time is read with the final words
        except Exception:
            logger.exception("the words so far could not be prepared for")

    async def _recall(self, recaller: Recaller, answer: SpeculativeAnswer) -> None:
        self._drafts.cancel()
        about_user = answer.not_known is not None and answer.not_known.about_user
        deadline_s = self._typed_deadline_s if answer.typed else self._deadline_s
        found = RecalledForTurn(missed=True)
        try:
            async with asyncio.timeout(deadline_s + HANG_TIMEOUT_S):
                found = await recaller.recall(answer.user_text, deadline_s, about_user=about_user)
        except TimeoutError:
            logger.warning("recall missed its deadline")
        except Exception:  # a failure of the memory must not stop the answer
            logger.exception("recall failed")
        answer.memories = found.memories
        if about_user and found.missed:  # the user may have told it
            answer.not_known = NotKnown("", about_user=True)
        answer.when_confirmed(partial(self._report, found))

    def _report(self, found: RecalledForTurn) -> None:
        if any(found):
            self._dialogue.emit(Recalled(self._dialogue.next_turn, *found))
