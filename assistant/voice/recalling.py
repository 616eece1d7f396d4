"""spoken command? → *recall*: memories for this turn, within their deadline."""

import asyncio
from typing import Protocol

from loguru import logger
from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import MemoryUsed
from assistant.voice.frames import AttemptFrame

DEADLINE_S = 0.010


class Recaller(Protocol):
    async def recall(self, query: str, deadline_s: float) -> tuple[MemoryUsed, ...]:
        """The memories that matter for `query`, best first; what there is at the deadline."""


class NoMemories:
    """Nothing is remembered beyond the conversation."""

    async def recall(self, query: str, deadline_s: float) -> tuple[MemoryUsed, ...]:
        del query, deadline_s
        return ()


class Recall(FrameProcessor):
    """Once per attempt, never in the history, never in the way of the answer."""

    def __init__(self, recaller: Recaller) -> None:
        super().__init__(name="recall")
        self._recaller = recaller

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, AttemptFrame) and not frame.attempt.remark:
            attempt = frame.attempt
            try:
                async with asyncio.timeout(DEADLINE_S):
                    attempt.memories = await self._recaller.recall(attempt.text, DEADLINE_S)
            except TimeoutError:
                logger.warning("recall missed its deadline")
            attempt.marks.stamp("recall")
        await self.push_frame(frame, direction)
