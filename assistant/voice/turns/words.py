"""Judges the user's words with a model, if there is one."""

import asyncio
import logging
from collections.abc import Callable

from assistant.errors import ModelError
from models.interfaces import TurnJudge

logger = logging.getLogger(__name__)


class WordJudge:
    """Judges the user's words in a thread. Every judgement is None until the model is loaded, and
    if it fails.

    Args:
        judge: the model; None if this machine has none for the user's language.
    """

    def __init__(self, judge: TurnJudge | None) -> None:
        self._judge = judge
        self._ready = False

    async def load(self) -> None:
        """Load the model. If this fails, it is logged."""
        if self._judge is not None:
            try:
                await asyncio.to_thread(self._judge.load)
                self._ready = True
            except ModelError:
                logger.exception("nothing judges the words of turns")

    async def complete(self, words: str, question: str) -> float | None:
        """Return the log-odds that the words are complete, as described in `TurnJudge.complete`."""
        return await self._judged(lambda judge: judge.complete(words, question))

    async def interrupts(self, words: str, spoken: str) -> float | None:
        """Return the log-odds that the words interrupt, as described in
        `TurnJudge.interrupts`."""
        return await self._judged(lambda judge: judge.interrupts(words, spoken))

    async def _judged(self, ask: Callable[[TurnJudge], float]) -> float | None:
        if self._judge is None or not self._ready:
            return None
        try:
            return await asyncio.to_thread(ask, self._judge)
        except ModelError:
            logger.exception("the words could not be judged")
            return None
