"""spoken command? → *recall*: memories for this turn, within the deadline.

The slowest part, encoding the question, starts on partial words while the user is still
speaking.
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
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerRequestFrame, PartialFrame
from assistant.voice.speculation import SpeculativeAnswer

logger = logging.getLogger(__name__)

HANG_TIMEOUT_S = 0.1
"""Seconds after the deadline at which a recaller that hangs is abandoned. Normally, the recaller
meets the deadline itself: even in a process that runs late, it can return a word search."""


class Recaller(Protocol):
    def ahead(self, words: str) -> None:
        """Prepare for `words`, heard so far from a user who is still speaking. Returns at once."""

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        """The memories relevant to `query` that were found by the deadline, best first, and whether
        the search was cut short."""


class Recall(FrameProcessor):
    """Recalls once per answer; never adds to the history or delays the answer.

    Args:
        recaller: None in a session that remembers nothing beyond the conversation.
        settings: holds the deadlines. Typed turns have their own, as recall can't be
            prepared for them.
    """

    def __init__(self, recaller: Recaller | None, dialogue: Dialogue, settings: Memory) -> None:
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
        if isinstance(frame, AnswerRequestFrame) and not frame.answer.remark:
            if self._recaller is not None:
                await self._recall(self._recaller, frame.answer)
            frame.answer.times.stamp("recall")
        await self.push_frame(frame, direction)

    def _ahead(self, text: str) -> None:
        words = self._dialogue.meant_for_me(text)
        if not words or self._recaller is None:
            return
        try:
            self._recaller.ahead(words)
        except Exception:  # as in `_recall`
            logger.exception("recall failed")

    async def _recall(self, recaller: Recaller, answer: SpeculativeAnswer) -> None:
        found = RecalledForTurn(missed=True)
        deadline_s = self._typed_deadline_s if answer.typed else self._deadline_s
        try:
            async with asyncio.timeout(deadline_s + HANG_TIMEOUT_S):
                found = await recaller.recall(answer.user_text, deadline_s)
        except TimeoutError:
            logger.warning("recall missed its deadline")
        except Exception:  # a memory failure costs the memories, never the answer
            logger.exception("recall failed")
        answer.memories = found.memories
        answer.when_confirmed(partial(self._report, found))

    def _report(self, found: RecalledForTurn) -> None:
        if any(found):
            self._dialogue.emit(Recalled(self._dialogue.next_turn, *found))
