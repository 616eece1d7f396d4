"""Judges which of the recalled memories answer the turn's question, and puts these first."""

import asyncio
import logging
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import combinations

from assistant.errors import ModelError
from assistant.events import MemoryUsed
from assistant.language.sentences import sentences
from assistant.language.speakers import USER
from models.interfaces import Reranker

logger = logging.getLogger(__name__)

MOST = 12
"""Maximum number of memories that are judged in a turn."""
TIMEOUT_S = 0.15
"""Seconds after which a turn goes on with unjudged memories. Judging takes 20 to 60 ms, and longer
on a busy machine."""
ANSWERS = 0.1
"""Minimum probability of the likeliest memory. If it is less, nothing seems to answer the question,
and no memory is worth its tokens. With this threshold, no memory was used for 2 of the 160
questions that a memory answers, and for 29 of the 40 that no memory answers (docs/benchmarks.md).
"""
HELPS = 0.03
"""Minimum probability of the other memories, which may answer a part of the question. With a higher
minimum, one question in ten would lack a memory that it needs."""
LIKELY = 0.3
"""A memory can make others outdated, or be outdated itself, only if it answers the question with at
least this probability."""
LONGEST = 180
"""Maximum number of characters that are judged together, unless a sentence is longer."""
MOST_PIECES = 4
"""Maximum number of parts of a memory that are judged."""
RIVALS = 4
"""Maximum number of answers that are compared with each other."""
OUTDATED = 0.6
"""Minimum probability that a newer answer makes an older one outdated."""


class Reranking:
    """Judges memories with a model, on a thread of its own. Until the model is loaded, or if it
    fails, the memories stay as they are.

    Args:
        reranker: None if there is no such model for the user's language.
        timeout_s: seconds after which a turn goes on with unjudged memories.
    """

    def __init__(self, reranker: Reranker | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._reranker = reranker
        self._timeout_s = timeout_s
        self._ready = False
        self._thread = ThreadPoolExecutor(1, "reranker")

    async def load(self) -> None:
        """Load the model. A failure is logged."""
        if self._reranker is None or self._ready:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._reranker.load)
            self._ready = True
        except ModelError as error:
            logger.warning("memories can't be judged by whether they answer a question: %s", error)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def ranked(self, question: str, memories: Sequence[MemoryUsed]) -> tuple[MemoryUsed, ...]:
        """Return the memories, those that answer the question first. The others are no longer
        `near`, except memories that correct the conversation. An answer stays near even if a newer
        one seems to make it outdated, because the model mistakes additions ("I can't eat shellfish
        either") for changes.

        Args:
            memories: best first. If there are more than `MOST`, the rest are not judged, and stay
                last.
        """
        if not self._ready or self._reranker is None or not memories:
            return tuple(memories)
        judged, rest = memories[:MOST], memories[MOST:]
        judge = partial(_ranked, self._reranker, question, judged)
        try:
            async with asyncio.timeout(self._timeout_s):
                ranked = await asyncio.get_running_loop().run_in_executor(self._thread, judge)
        except TimeoutError:
            logger.info("judging memories took too long")
            return tuple(memories)
        except ModelError as error:
            logger.warning("memories could not be judged: %s", error)
            return tuple(memories)
        return (*ranked, *(replace(each, near=each.corrects) for each in rest))


def _ranked(reranker: Reranker, question: str, memories: Sequence[MemoryUsed]) -> list[MemoryUsed]:
    """Judge the memories, and put those first that answer the question; otherwise, their order
    stays. Blocking."""
    pieces = [_pieces(each.text) for each in memories]
    shares = iter(reranker.judge(question, [piece for some in pieces for piece in some]))
    best = [max(next(shares) for _ in some) for some in pieces]
    least = HELPS if max(best) >= ANSWERS else math.inf
    told = [
        replace(memory, answers=share, near=share >= least or memory.corrects)
        for memory, share in zip(memories, best, strict=True)
    ]
    told.sort(key=lambda each: not each.near)
    likely = [each for each in told if (each.answers or 0.0) >= LIKELY and _may_change(each)]
    newer = _newer_answers(reranker, question, likely[:RIVALS])
    return [replace(each, outdated_by=newer.get(each.id)) for each in told]


def _pieces(text: str) -> list[str]:
    """Divide a long memory at the ends of sentences, because the model reads only the beginning."""
    pieces = [""]
    for each in sentences(text):
        if pieces[-1] and len(pieces[-1]) + len(each.text) > LONGEST:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {each.text}".strip()
    return pieces[:MOST_PIECES]


def _may_change(memory: MemoryUsed) -> bool:
    """Whether a memory may outdate others or be outdated. What the assistant says never outdates
    what the user said."""
    return memory.speaker == USER and not memory.superseded_by


def _newer_answers(
    reranker: Reranker, question: str, answers: Sequence[MemoryUsed]
) -> dict[str, str]:
    """Return the ids of answers that newer answers seem to make outdated, each with the id of the
    newest of these."""
    newer_by: dict[str, str] = {}
    by_time = sorted(answers, key=lambda each: each.said.timestamp() if each.said else 0.0)
    for older, newer in combinations(by_time, 2):
        if reranker.outdated(question, older.text, newer.text) >= OUTDATED:
            newer_by[older.id] = newer.id
    return newer_by
