"""Stops an answer before the language model claims an act that only a skill could have done.

The language model sometimes says "I've set a timer" or "I'll remind you", although it can do
nothing but talk. What skills really do is said by their own replies. So every such claim of the
model is false, and is neither spoken nor shown nor stored.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from assistant.voice.speech.clauses import Clause, ClauseSplitter
from models.interfaces import IntentClassifier

logger = logging.getLogger(__name__)

CLAIM = "claim"
"""The classifier's name for the kind of text that claims or promises an act."""
LEAST_CLAIM = 0.6
"""Minimum probability of a claim."""
DEADLINE_S = 0.05
"""Seconds after which a clause is spoken without the classifier's verdict. Normally it takes a few
milliseconds."""
NOT_DONE = "I haven't done that. Try saying it another way, or ask what I can do."
"""Said in place of the first claim of an answer, and of all that would have followed. It is true
whether the act is impossible or the request was only missed."""


class ClaimDetector:
    """Judges whether a clause of an answer claims an act. Use it only on the event loop.

    The classifier runs on a thread of its own, so that it neither waits behind other work nor holds
    the event loop.

    Args:
        classifier: is loaded elsewhere. Until it is, and whenever it fails or is late, nothing
            counts as a claim.
    """

    def __init__(self, classifier: IntentClassifier) -> None:
        self._classifier = classifier
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="claims")
        self._failed = False

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def claims(self, clause: str) -> bool:
        """Return whether the clause claims that an act was, is being or will be done."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(DEADLINE_S):
                found = await loop.run_in_executor(self._thread, self._classifier.classify, clause)
        except TimeoutError:
            logger.warning("the judgement of a clause missed its deadline")
            return False
        except Exception:  # a failure of the classifier must not stop the answer
            if not self._failed:  # it may fail at every clause
                self._failed = True
                logger.exception("the judgement of clauses failed")
            return False
        return found.probabilities.get(CLAIM, 0.0) >= LEAST_CLAIM


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The next piece of an answer's text that may be spoken, and its clauses."""

    text: str
    clauses: tuple[Clause, ...]


class AnswerCheck:
    """Checks one answer while it is being written, clause by clause. Text is held until its clause
    has been judged. It is spoken no later for this, because speech waits for the end of a clause,
    too.

    Args:
        language: the setting `persona.language`.
    """

    def __init__(self, detector: ClaimDetector, language: str) -> None:
        self._detector = detector
        self._language = language
        self._splitter = ClauseSplitter(language)
        self._held = ""
        self._released = 0
        """Number of characters of the answer that were returned."""
        self.claimed = False
        """Whether the answer contained a claim. If so, it has ended."""

    async def feed(self, delta: str) -> list[CheckedText]:
        """Add a piece of the answer. Return the text that may be spoken now."""
        if self.claimed:
            return []
        self._held += delta
        return await self._checked(self._splitter.feed(delta))

    async def finish(self) -> list[CheckedText]:
        """End the answer. Return the rest of its text."""
        if self.claimed:
            return []
        checked = await self._checked(self._splitter.finish())
        if self._held and not self.claimed:
            checked.append(self._release(len(self._held), ()))
        return checked

    def end_with(self, sentence: str) -> CheckedText:
        """Drop what is held, and end the answer with another sentence."""
        self._held = f" {sentence}" if self._released else sentence
        splitter = ClauseSplitter(self._language)
        clauses = [*splitter.feed(self._held), *splitter.finish()]
        moved = tuple(_moved(clause, self._released) for clause in clauses)
        return self._release(len(self._held), moved)

    async def _checked(self, clauses: list[Clause]) -> list[CheckedText]:
        checked: list[CheckedText] = []
        for clause in clauses:
            if await self._detector.claims(clause.spoken):
                self.claimed = True
                return [*checked, self.end_with(NOT_DONE)]
            end = max(word.source_end for word in clause.words) - self._released
            checked.append(self._release(end, (clause,)))
        return checked

    def _release(self, count: int, clauses: tuple[Clause, ...]) -> CheckedText:
        text, self._held = self._held[:count], self._held[count:]
        self._released += len(text)
        return CheckedText(text, clauses)


def _moved(clause: Clause, by: int) -> Clause:
    """Return the clause of a text that begins `by` characters later in the answer."""
    words = tuple(replace(word, source_end=word.source_end + by) for word in clause.words)
    return replace(clause, words=words)
