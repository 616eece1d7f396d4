"""spoken command? → *recall*: memories for this turn, within their deadline.

What takes longest, the encoding of the question, begins on the words that are heard while the user
still speaks.
"""

import asyncio
import logging
from functools import partial
from typing import Protocol

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import Recalled
from assistant.memory import RecalledForTurn
from assistant.settings import Memory
from assistant.voice.attempt import Attempt
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AttemptFrame, PartialFrame

logger = logging.getLogger(__name__)

HANG_TIMEOUT_S = 0.1
"""A recaller keeps the deadline itself, and where this whole program was late it still has what the
words say; one that hangs is left behind this much later."""


class Recaller(Protocol):
    def ahead(self, words: str) -> None:
        """The user still speaks, and this is what was heard so far: prepare for it. Returns at
        once."""

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        """The memories that matter for `query`, best first, and what was missed: what there is at
        the deadline is what there is."""


class NoMemories:
    """Nothing is remembered beyond the conversation."""

    def ahead(self, words: str) -> None:
        del words

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        del query, deadline_s
        return RecalledForTurn()


class Recall(FrameProcessor):
    """Once per attempt, never in the history, never in the way of the answer.

    Args:
        settings: the deadlines; of what is typed no word is known before all are.
    """

    def __init__(self, recaller: Recaller, dialogue: Dialogue, settings: Memory) -> None:
        super().__init__(name="recall")
        self._recaller = recaller
        self._dialogue = dialogue
        self._deadline_s = settings.deadline_ms / 1000
        self._typed_deadline_s = max(settings.deadline_ms, settings.typed_deadline_ms) / 1000

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, PartialFrame):
            self._ahead(frame.text)
            return
        if isinstance(frame, AttemptFrame) and not frame.attempt.remark:
            await self._recall(frame.attempt)
        await self.push_frame(frame, direction)

    def _ahead(self, text: str) -> None:
        words = self._dialogue.meant_for_me(text)
        if not words:
            return
        try:
            self._recaller.ahead(words)
        except Exception:  # as in `_recall`
            logger.exception("recall failed")

    async def _recall(self, attempt: Attempt) -> None:
        found = RecalledForTurn(missed=True)
        deadline_s = self._typed_deadline_s if attempt.typed else self._deadline_s
        try:
            async with asyncio.timeout(deadline_s + HANG_TIMEOUT_S):
                found = await self._recaller.recall(attempt.text, deadline_s)
        except TimeoutError:
            logger.warning("recall missed its deadline")
        except Exception:  # a memory that fails costs the memories, never the answer
            logger.exception("recall failed")
        attempt.memories = found.memories
        attempt.marks.stamp("recall")
        attempt.when_confirmed(partial(self._tell, found))

    def _tell(self, found: RecalledForTurn) -> None:
        if any(found):
            self._dialogue.emit(Recalled(self._dialogue.next_turn, *found))
