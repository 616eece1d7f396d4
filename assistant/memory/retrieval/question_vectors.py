"""Provides a question's vector before recall's deadline. Words are encoded while the user is still
speaking. If the question's own vector is late, the vector of an earlier draft is used. For a
follow-up question, the vectors of the previous exchange are added.

The weights were chosen with 112 follow-up questions (`scripts/eval_followup.py`). For these,
recall@5 was 0.38 with the question alone and 0.81 with the previous exchange. Questions that begin
a new topic are not affected, since follow-ups are recognised by their words.
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
"""Weight of the vector of the user's previous words. The follow-up's own vector has weight 1."""
ANSWERED_BEFORE = 0.3
"""Weight of the vector of the previous answer."""

MOST_EXPECTED = 0.8
"""Recall waits for the stronger encoder only if it is expected to take at most this share of the
remaining time. If it is expected to take more, it is often late, so waiting gains nothing."""

HELD_S = 0.005
"""Seconds to block the event loop for a vector that is almost ready. Waiting asynchronously would
cost half a millisecond for the wake-up, and nothing else needs the event loop at that moment."""

MISSES_REPORTED = 5
"""Number of consecutive recalls without a vector after which the user is notified."""
FURTHEST = 3
"""Maximum number of exchanges to go back if a follow-up refers to another follow-up."""


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question ready for the search. If it has no vector at all, the search only matches words.

    `late`: the question's own vector was not ready in time. `vector` is then the vector of a draft,
    i.e. of words heard shortly before, or None. `stand_in`: the stronger encoder was available, but
    only the fast encoder's vector was ready.
    """

    question: Question
    vector: Vector | None
    late: bool
    stronger: Vector | None = None
    stand_in: bool = False

    @property
    def by_words_alone(self) -> bool:
        return self.vector is None and self.stronger is None


class QuestionEncoder:
    """Turns what the user says into a question for the index. Call it only on the event loop.

    Args:
        encoder: the fast encoder.
        speakers: returns the names of the speakers of all memories.
        stronger: returns the stronger encoder; None while it is not available.
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
        """Encode the words heard so far while the user is still speaking. Returns immediately."""
        speakers = self._speakers()
        if speakers:
            self._encoder.ahead(read_question(text[-LONGEST_QUERY:], speakers).meaning)

    def over(self, text: str | None) -> None:
        """Drop the vectors of drafts, and keep only the vector of the turn's final words.

        Args:
            text: the turn's final words; None if there was no turn.
        """
        meaning = text and read_question(text[-LONGEST_QUERY:], self._speakers()).meaning
        if meaning != self._later:
            self._later = None
        self._encoder.settle(meaning)

    async def ask(
        self, text: str, due: float, earlier: Sequence[Earlier] = (), last: float = 0.0
    ) -> EncodedQuestion:
        """Encode a question.

        Args:
            due: when the vectors are needed, on the clock of `time.monotonic`.
            earlier: the previous exchanges, newest last.
            last: when to stop waiting if no vector is ready by `due`.
        """
        question = read_question(text, self._speakers())
        left = max(0.0, due - time.monotonic())
        stronger = self._stronger()
        # The stronger encoder starts first, since it takes longest and runs on another core.
        better, in_vain = self._begun(stronger, question.meaning, left)
        # If encoding is fast, this thread encodes: on a busy machine, threads wake slowly.
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
            # By itself, the question's vector would find anything that contains pronouns.
            found = _with(stronger, found, topic) if stronger is not None else None
        return EncodedQuestion(question, known, late, found, stand_in)

    def _begun(
        self, stronger: QueryEncoder | None, meaning: str, left: float
    ) -> "tuple[Future[Vector] | None, bool]":
        """Start the stronger encoder, and cancel its previous job unless that one has begun.

        Returns its job, and whether waiting for the job is useless because it would take too long.
        In that case no job is started, and a job is returned only if one for the same words is
        already running.
        """
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
        """Encode the question with the stronger encoder after the search, which needs the processor
        now. The vector is useful if the same question is asked again, and the job shows how long
        encoding takes. Nothing is encoded if, by then, the question was dropped or anything was
        forgotten."""
        self._later, epoch = meaning, stronger.epoch

        def begin() -> None:
            if self._later == meaning and stronger.epoch == epoch:
                self._better = stronger.submit(meaning, draft=True)

        asyncio.get_running_loop().call_soon(begin)

    def _follows_up(self, text: str) -> bool:
        return follows_up(text, self._lexicon.content(text))

    def _topic(self, earlier: Sequence[Earlier]) -> Earlier:
        """Return the previous exchange. If the user's words in it were a follow-up too, they are
        replaced by the latest words that were not a follow-up."""
        newest = earlier[-1]
        for each in reversed(earlier[-FURTHEST:]):
            if not self._follows_up(each.said[-LONGEST_QUERY:]):
                return Earlier(each.said, newest.answered)
        return newest


def _with(encoder: QueryEncoder, vector: Vector | None, earlier: Earlier) -> Vector | None:
    """Return a question's vector combined with the cached vectors of the previous exchange; None if
    there is nothing to combine."""
    texts = ((earlier.said, SAID_BEFORE), (earlier.answered, ANSWERED_BEFORE))
    known = [(encoder.known(text), weight) for text, weight in texts if text]
    before = [np.float32(weight) * each for each, weight in known if each is not None]
    if vector is None or not before:
        return None
    total = np.sum([vector, *before], axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def _in_time(vector: "Future[Vector] | None") -> Vector | None:
    """Return the stronger encoder's vector if it is ready. Unlike `result`, this neither logs a
    warning nor cancels the job if it is late."""
    return None if vector is None or not vector.done() else result(vector)


async def _done(vectors: "Sequence[Future[Vector]]", due: float, *, held: bool = False) -> None:
    """Wait until all vectors are ready, or until `due`.

    Args:
        held: if there is only one vector, first block the event loop for up to `HELD_S`.
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
    """Counts consecutive recalls that only matched words. Notifies the user when there are
    `MISSES_REPORTED`, but only once."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._run = 0
        self._reported = False

    def count(self, by_words_alone: bool) -> None:
        self._run = self._run + 1 if by_words_alone else 0
        if self._run == MISSES_REPORTED and not self._reported:
            self._reported = True
            self._emit(
                Notice(
                    "This machine is too busy: searches by meaning take too long, so memories are"
                    " found only by matching words.",
                    Severity.WARNING,
                    "Close busy programs, or choose a lighter profile.",
                )
            )


def result(vector: "Future[Vector]", *, wait: bool = False) -> Vector | None:
    """Return the vector if it is ready. Otherwise cancel its job and return None.

    Args:
        wait: first wait until the job is done.
    """
    if wait:
        futures.wait([vector])  # blocks only the caller's thread, which recall doesn't need
    if not vector.done():
        vector.cancel()
        logger.warning("the query's vector came too late")
    elif vector.cancelled():
        logger.warning("the query was cancelled")
    elif (error := vector.exception()) is not None:
        logger.warning("the query can't be encoded: %s", error)
    else:
        return vector.result()
    return None
