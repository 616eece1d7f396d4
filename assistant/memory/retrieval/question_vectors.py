"""How a recall gets its question's vector in time: encoded ahead while the user still speaks, with
a stand-in at the deadline, and with what was said before where the question leans on it.

Measured on 112 follow-up questions (`scripts/eval_followup.py`), weights chosen on them: recall@5
of the question alone 0.38, of question and earlier exchange 0.81; where a new topic begins it
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
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import Vector
from assistant.memory.retrieval.encoding import LONGEST_QUERY, QueryEncoder
from assistant.memory.retrieval.question import (
    Earlier,
    Question,
    follows_up,
    read_question,
    understood,
)

logger = logging.getLogger(__name__)

SAID_BEFORE = 0.7
"""Weight of the vector of what the user said before, to 1 of the follow-up's own."""
ANSWERED_BEFORE = 0.3
"""The same of what was answered."""

MOST_EXPECTED = 0.8
"""Of the time that is left; a stronger encoder that is expected to take more of it is often late,
and then all that it has done is to slow the search."""

HELD_S = 0.005
"""That the event loop is held for a vector that is about to come. To be told of it and woken takes
half a millisecond, and a turn waits for nothing else then."""

MISSES_TOLD = 5
"""So many recalls in a row without a vector are told to the user."""
FURTHEST = 3
"""Exchanges back that a follow-up to a follow-up may lean on."""


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question as it is searched for. Without any vector the words alone decide. `late`: its own
    vector was not there in time; there may be that of the words heard shortly before. `stand_in`:
    it was, but not that of the stronger encoder, which was asked too."""

    question: Question
    vector: Vector | None
    late: bool
    stronger: Vector | None = None
    stand_in: bool = False

    @property
    def by_words_alone(self) -> bool:
        return self.vector is None and self.stronger is None


class QuestionEncoder:
    """Turns what a user says into what an index is searched by. Belongs to the event loop.

    Args:
        encoder: the quick one.
        speakers: all of whom there are memories.
        stronger: the stronger encoder, while it can be asked.
    """

    def __init__(
        self,
        encoder: QueryEncoder,
        lexicon: TextAnalyzer,
        speakers: Callable[[], Collection[str]],
        stronger: Callable[[], QueryEncoder | None] = lambda: None,
    ) -> None:
        self._encoder = encoder
        self._lexicon = lexicon
        self._speakers = speakers
        self._stronger = stronger
        self._better: Future[Vector] | None = None
        self._later: str | None = None

    def ahead(self, text: str) -> None:
        """The user still speaks, and these are the words so far. Returns at once."""
        speakers = self._speakers()
        if speakers:
            self._encoder.ahead(read_question(text[-LONGEST_QUERY:], speakers).meaning)

    def over(self, text: str | None) -> None:
        """The turn is decided, and these are its words; None where it became no turn. Of words
        that it does not have nothing is kept."""
        meaning = text and read_question(text[-LONGEST_QUERY:], self._speakers()).meaning
        if meaning != self._later:
            self._later = None
        self._encoder.settle(meaning)

    async def ask(
        self, text: str, due: float, earlier: Sequence[Earlier] = (), last: float = 0.0
    ) -> EncodedQuestion:
        """
        Args:
            due: when there must be an answer, on the clock of `time.monotonic`.
            earlier: what was said before, the newest last.
            last: when there must be one that has nothing of the question's meaning, if later.
        """
        question = read_question(text, self._speakers())
        left = max(0.0, due - time.monotonic())
        stronger = self._stronger()
        # First, since it takes longest: on a core of its own it works while this thread encodes.
        better, in_vain = self._begun(stronger, question.meaning, left)
        # Without threads but the encoder's: on a busy machine each takes its time to wake.
        vector = self._encoder.submit(question.meaning, draft=True, at_once_s=left / 2)
        await _done([vector] if better is None or in_vain else [vector, better], due, held=True)
        if _in_time(better) is None:
            await _done([vector], last)
        if stronger is not None and better is None:
            self._begin_later(stronger, question.meaning)
        known, found = result(vector), _in_time(better)
        late = known is None and found is None
        stand_in = stronger is not None and found is None and not late
        if late:
            known = self._encoder.draft()
        if earlier and self._follows_up(text):
            topic = self._topic(earlier)
            question = understood(question, topic)
            with_topic = _with(self._encoder, known, topic)
            known = known if with_topic is None else with_topic
            # Without what was said before it would look for anything that leans on anything.
            found = _with(stronger, found, topic) if stronger is not None else None
        return EncodedQuestion(question, known, late, found, stand_in)

    def _begun(
        self, stronger: QueryEncoder | None, meaning: str, left: float
    ) -> "tuple[Future[Vector] | None, bool]":
        """In place of what still waits to be begun. Whether it is in vain to wait for it: then it
        is none, unless it is under way already."""
        if self._better is not None:
            self._better.cancel()
        self._better = self._later = None
        if stronger is None:
            return None, False
        if stronger.expected_s(meaning) > MOST_EXPECTED * left:
            return stronger.under_way(meaning), True
        self._better = stronger.submit(meaning, draft=True)
        return self._better, False

    def _begin_later(self, stronger: QueryEncoder, meaning: str) -> None:
        """Once the search is over, whose time it would take: the same words may be asked for again,
        and it tells how long the next will take. Not if they were given up by then, or anything
        was forgotten."""
        self._later, epoch = meaning, stronger.epoch

        def begin() -> None:
            if self._later == meaning and stronger.epoch == epoch:
                self._better = stronger.submit(meaning, draft=True)

        asyncio.get_running_loop().call_soon(begin)

    def _follows_up(self, text: str) -> bool:
        return follows_up(text, self._lexicon.content(text))

    def _topic(self, earlier: Sequence[Earlier]) -> Earlier:
        """What was said before, or where that was a follow-up too, what it followed."""
        newest = earlier[-1]
        for each in reversed(earlier[-FURTHEST:]):
            if not self._follows_up(each.said[-LONGEST_QUERY:]):
                return Earlier(each.said, newest.answered)
        return newest


def _with(encoder: QueryEncoder, vector: Vector | None, earlier: Earlier) -> Vector | None:
    """With the vectors of what was said before, as far as they are known; None where none is."""
    told = ((earlier.said, SAID_BEFORE), (earlier.answered, ANSWERED_BEFORE))
    known = [(encoder.known(text), weight) for text, weight in told if text]
    before = [np.float32(weight) * each for each, weight in known if each is not None]
    if vector is None or not before:
        return None
    total = np.sum([vector, *before], axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def _in_time(vector: "Future[Vector] | None") -> Vector | None:
    """As `result`, of the stronger encoder: that it comes too late is nothing to warn of, and it is
    not given up."""
    return None if vector is None or not vector.done() else result(vector)


async def _done(vectors: "Sequence[Future[Vector]]", due: float, *, held: bool = False) -> None:
    """Wait for all of them, until `due` at most.

    Args:
        held: for a single one the event loop is held for `HELD_S` first.
    """
    if held and len(vectors) == 1 and not vectors[0].done():
        futures.wait(vectors, max(0.0, min(due - time.monotonic(), HELD_S)))
    if (left := due - time.monotonic()) <= 0:
        return
    waiting = [asyncio.wrap_future(each) for each in vectors if not each.done()]
    for each in waiting:
        each.add_done_callback(lambda done: done.cancelled() or done.exception())
    if waiting:
        await asyncio.wait(waiting, timeout=left)


class DeadlineMisses:
    """Counts the recalls in a row that had words alone to go by; tells of a run of them, once."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._run = 0
        self._told = False

    def count(self, by_words_alone: bool) -> None:
        self._run = self._run + 1 if by_words_alone else 0
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
