"""How a recall gets its question's vector in time: encoded ahead while the user still speaks, with
a stand-in at the deadline, and with what was said before where the question leans on it.

Measured on 112 follow-up questions (`scripts/eval_followup.py`), weights chosen on them: recall@5
of the question alone 0.26, of question and earlier exchange 0.77; where a new topic begins it
stays as it was, since such questions are told from follow-ups by their words.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from assistant.events import Event, Notice, Severity
from assistant.memory.encoding import QueryEncoder, Vector
from assistant.memory.lexicon import Lexicon
from assistant.memory.question import Earlier, Question, follows_up, read_question, understood

logger = logging.getLogger(__name__)

SAID_BEFORE = 0.7
"""Weight of the vector of what the user said before, to 1 of the follow-up's own."""
ANSWERED_BEFORE = 0.3
"""The same of what was answered."""

MISSES_TOLD = 5
"""So many recalls in a row without a vector are told to the user."""
FURTHEST = 3
"""Exchanges back that a follow-up to a follow-up may lean on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is searched for. Without a `vector` the words alone decide. `late`: its own
    vector was not there in time; there may be that of the words heard shortly before."""

    question: Question
    vector: Vector | None
    late: bool


class Asking:
    """Turns what a user says into what an index is searched by. Belongs to the event loop.

    Args:
        speakers: all of whom there are memories.
    """

    def __init__(
        self, encoder: QueryEncoder, lexicon: Lexicon, speakers: Callable[[], Collection[str]]
    ) -> None:
        self._encoder = encoder
        self._lexicon = lexicon
        self._speakers = speakers

    def ahead(self, text: str) -> None:
        """The user still speaks, and these are the words so far. Returns at once."""
        speakers = self._speakers()
        if speakers:
            self._encoder.ahead(read_question(text, speakers).meaning)

    def over(self, text: str | None) -> None:
        """The turn is decided, and these are its words; None where it became no turn. Of words
        that it does not have nothing is kept."""
        self._encoder.settle(text and read_question(text, self._speakers()).meaning)

    async def ask(self, text: str, due: float, earlier: Sequence[Earlier] = ()) -> Asked:
        """
        Args:
            due: when there must be an answer, on the clock of `time.monotonic`.
            earlier: what was said before, the newest last.
        """
        question = read_question(text, self._speakers())
        left = max(0.0, due - time.monotonic())
        # Without threads but the encoder's: on a busy machine each takes its time to wake.
        vector = self._encoder.submit(question.meaning, draft=True, at_once_s=left / 2)
        if not vector.done():
            encoded = asyncio.wrap_future(vector)
            encoded.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait({encoded}, timeout=left)
        known = result(vector)
        late = known is None
        if known is None:
            known = self._encoder.draft()
        if earlier and self._follows_up(text):
            topic = self._topic(earlier)
            question = understood(question, topic)
            known = self._with(known, topic)
        return Asked(question, known, late)

    def _follows_up(self, text: str) -> bool:
        return follows_up(text, self._lexicon.content(text))

    def _topic(self, earlier: Sequence[Earlier]) -> Earlier:
        """What was said before, or where that was a follow-up too, what it followed."""
        newest = earlier[-1]
        for each in reversed(earlier[-FURTHEST:]):
            if not self._follows_up(each.said):
                return Earlier(each.said, newest.answered)
        return newest

    def _with(self, vector: Vector | None, earlier: Earlier) -> Vector | None:
        """With the vectors of what was said before, as far as they are known."""
        if vector is None:
            return None
        total = vector.copy()
        for text, weight in ((earlier.said, SAID_BEFORE), (earlier.answered, ANSWERED_BEFORE)):
            before = self._encoder.known(text) if text else None
            if before is not None:
                total += np.float32(weight) * before
        return np.asarray(total / np.linalg.norm(total), np.float32)


class Misses:
    """Counts the recalls in a row that had words alone to go by; tells of a run of them, once."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._run = 0
        self._told = False

    def count(self, asked: Asked) -> None:
        self._run = self._run + 1 if asked.vector is None else 0
        if self._run == MISSES_TOLD and not self._told:
            self._told = True
            self._emit(
                Notice(
                    "Recall goes by words alone: this machine is too busy to do more in time.",
                    Severity.WARNING,
                    "Close busy programs, or choose a lighter profile.",
                )
            )


def result(vector: "Future[Vector]", *, wait: bool = False) -> Vector | None:
    """The vector if it is there by now, or can be had at all; else it is given up."""
    if wait:
        futures.wait([vector])  # here, and not on the thread that the voice's recall needs
    if not vector.done():
        vector.cancel()
        logger.warning("the query's vector came too late")
    elif vector.cancelled():
        logger.warning("the query was given up")
    elif (error := vector.exception()) is not None:
        logger.warning("the query can't be encoded: %s", error)
    else:
        return vector.result()
    return None
