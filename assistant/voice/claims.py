"""Stops an answer before the language model claims an act that only a skill could have done.

The language model sometimes says "I've set a timer" or "I'll remind you", although it can do
nothing but talk. Skills say in their own replies what they have done. So every such claim of the
model is false, and is not spoken, shown or stored. The same goes for an answer that begins by
reading out a line of the prompt.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

from assistant.intents import ABOUT_OPEN, BY_MEANING, CommandKind
from assistant.language.word_lists import words_of
from assistant.voice.speech.clauses import Clause, ClauseSplitter
from models.interfaces import ClassifiedText, IntentClassifier

logger = logging.getLogger(__name__)

CLAIM = "claim"
"""The classifier's name for the kind of text that claims or promises an act."""
TALK = frozenset(
    {
        *(CommandKind.TIME, CommandKind.DATE, CommandKind.CALCULATE),
        *(CommandKind.ABILITIES, CommandKind.WHICH_MODEL, CommandKind.TASK_OPEN),
        *(CommandKind.FORM_OPEN, *ABOUT_OPEN),
    }
)
"""The kinds of requests that may be answered by talking."""
ACTS = BY_MEANING - TALK
"""The kinds of requests to which "Sure!" promises an act, or knowledge that only a skill has."""


class Threshold(NamedTuple):
    """Minimum probabilities at which a sentence counts as a claim.

    Attributes:
        request: minimum probability of a request for this threshold to apply.
        own: for a sentence in the first person.
        other: for any other sentence ("Your alarm is set.").
    """

    request: float
    own: float
    other: float


THRESHOLDS = (Threshold(0.15, 0.01, 0.02), Threshold(0.05, 0.04, 0.5), Threshold(0.0, 0.6, 0.97))
"""After a request that no skill has taken, little except a refusal or a question can be true, so
the thresholds are low. In ordinary talk they are high, because sentences about what others have
done ("She sent you a message.") resemble claims. `scripts/eval_claims.py --calibrate` shows the
effect of other values."""
LIKELY_REQUEST = 0.15
"""Minimum probability of a request at which "Sure!" counts as a promise."""
LONGEST = 40
"""Maximum number of words that are judged together. The first clauses of a longer sentence are left
out."""
DEADLINE_S = 0.1
"""Seconds that a verdict of the classifier may take. Normally it takes a few milliseconds."""
NOT_DONE = "I haven't done that. Try saying it another way, or ask what I can do."
"""Said in place of an answer's first claim and everything after it. It is true whether the act is
impossible or the request was merely not recognised."""
NOT_ANSWERED = "I don't know."
"""Said in place of an answer that begins with a bracket: very small models read out the bracketed
lines of their prompt, above all the line for questions that can't be answered."""
ENDINGS = (".", "!", "?", ":")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def is_claim(text: str, claim: float, request: float) -> bool:
    """Return whether a sentence, or its beginning, counts as a claim.

    Args:
        claim: the probability that it claims an act, by its words alone.
        request: the probability that the user has asked for an act.
    """
    own, likely = is_own(text), request >= LIKELY_REQUEST
    if own and likely and _words(text)[0] in words_of("words", "consent"):
        return True  # "Yes, I can do that."
    least = next(each for each in THRESHOLDS if request >= each.request)
    return claim >= (least.own if own else least.other)


def is_own(text: str) -> bool:
    """Return whether an English sentence is in the first person."""
    return not words_of("words", "first_person").isdisjoint(_words(text))


class ClaimDetector:
    """Judges what the user asks for, and whether the answer claims an act. Use it only on the event
    loop.

    The classifier runs on a thread of its own, so that it neither waits behind other work nor holds
    the event loop.

    Args:
        classifier: loaded elsewhere. Until it is loaded, and whenever it fails or is late, nothing
            counts as a claim.
        deadline_s: seconds after which a clause is spoken without a verdict.
    """

    def __init__(self, classifier: IntentClassifier, deadline_s: float = DEADLINE_S) -> None:
        self._classifier = classifier
        self._deadline_s = deadline_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="claims")
        self._failed = False

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def request(self, text: str, classified: ClassifiedText | None = None) -> float:
        """Return the probability that the user's words ask for an act. Words that a skill has
        handled don't get here, so the probability is usually low. For ordinary talk, it is much
        lower still.

        Args:
            classified: the classifier's result for the words, if it was asked already.
        """
        if classified is not None:
            found = classified.probabilities
        else:
            found = await self._probabilities(text)
        return sum(found.get(kind, 0.0) for kind in ACTS)

    async def claim(self, text: str) -> float:
        """Return the probability that words of the assistant claim that an act was, is being or
        will be done."""
        return (await self._probabilities(text)).get(CLAIM, 0.0)

    async def _probabilities(self, text: str) -> Mapping[str, float]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._deadline_s):
                found = await loop.run_in_executor(self._thread, self._classifier.classify, text)
        except TimeoutError:
            logger.warning("the judgement of a clause missed its deadline")
            return {}
        except Exception:  # a failure of the classifier must not stop the answer
            if not self._failed:  # it may fail at every clause
                self._failed = True
                logger.exception("the judgement of clauses failed")
            return {}
        return found.probabilities


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The next piece of an answer's text that may be spoken, and its clauses."""

    text: str
    clauses: tuple[Clause, ...]


class AnswerCheck:
    """Checks one answer while it is being written, clause by clause. A clause's text is held until
    the clause has been judged, together with the beginning of its sentence. This doesn't delay
    speech, which waits for the end of a clause anyway.

    If the user has probably asked for an act, an answer's first words of consent ("Sure!") also
    wait for the next clause, because by themselves they are a promise.

    Args:
        language: the setting `persona.language`.
        asked: the user's words.
        pending: the probability that an earlier turn asked for an act, if the assistant replied
            with a question.
        classified: the classifier's result for the user's words, if it was asked already.
    """

    def __init__(
        self,
        detector: ClaimDetector,
        language: str,
        asked: str = "",
        pending: float = 0.0,
        classified: ClassifiedText | None = None,
    ) -> None:
        self._detector = detector
        self._language = language
        self._splitter = ClauseSplitter(language)
        self._request = asyncio.create_task(detector.request(asked, classified))
        self._pending = pending
        self._sentence: list[str] = []
        """The clauses of the incomplete sentence, in the form in which they are spoken."""
        self._consent: list[Clause] = []
        """The answer's first clauses, if they only consent."""
        self._held = ""
        self._released = ""
        """The text that was returned."""
        self.ended = False
        """Whether the answer was ended early, because it contained a claim or read out a part of
        the prompt."""

    async def request(self) -> float:
        """Return the probability that the user has asked for an act, in this turn or before."""
        return max(self._pending, await self._request)

    async def feed(self, delta: str) -> list[CheckedText]:
        """Add a piece of the answer. Return the text that may be spoken now."""
        if self.ended:
            return []
        self._held += delta
        return await self._checked(self._splitter.feed(delta))

    async def finish(self) -> list[CheckedText]:
        """End the answer. Return the rest of its text."""
        if self.ended:
            return []
        checked = await self._checked(self._splitter.finish())
        if self._consent:
            checked.append(self._refuse())
        elif self._held and not self.ended:
            checked.append(self._release(len(self._held), ()))
        return checked

    def end_with(self, sentence: str) -> CheckedText:
        """Drop what is held, and end the answer with another sentence."""
        self._consent.clear()
        self._held = f" {sentence}" if self._released else sentence
        splitter = ClauseSplitter(self._language)
        clauses = [*splitter.feed(self._held), *splitter.finish()]
        moved = tuple(_moved(clause, len(self._released)) for clause in clauses)
        return self._release(len(self._held), moved)

    async def _checked(self, clauses: list[Clause]) -> list[CheckedText]:
        checked: list[CheckedText] = []
        for clause in clauses:
            if not self._released and self._held.lstrip().startswith("("):
                self.ended = True
                return [*checked, self.end_with(NOT_ANSWERED)]
            if await self._claims(clause):
                return [*checked, self._refuse()]
            self._consent.append(clause)
            if not self._released and is_consent(clause.spoken) and await self._asked_for_act():
                continue
            end = max(word.source_end for word in clause.words) - len(self._released)
            checked.append(self._release(end, tuple(self._consent)))
            self._consent.clear()
        return checked

    async def _claims(self, clause: Clause) -> bool:
        """Whether the sentence up to the end of this clause claims an act."""
        self._sentence.append(clause.spoken)
        while len(self._sentence) > 1 and sum(map(_length, self._sentence)) > LONGEST:
            self._sentence.pop(0)
        text = " ".join(self._sentence)
        if clause.spoken.endswith(ENDINGS):
            self._sentence.clear()
        return is_claim(text, await self._detector.claim(text), await self.request())

    async def _asked_for_act(self) -> bool:
        return await self.request() >= LIKELY_REQUEST

    def _refuse(self) -> CheckedText:
        """End the answer with `NOT_DONE`. If something was said before ("Great!"), it begins with
        "but"."""
        self.ended = True
        said = self._released.rstrip()
        but = ("But " if said.endswith(ENDINGS) else "but ") if said else ""
        return self.end_with(f"{but}{NOT_DONE}")

    def _release(self, count: int, clauses: tuple[Clause, ...]) -> CheckedText:
        text, self._held = self._held[:count], self._held[count:]
        self._released += text
        return CheckedText(text, clauses)


def _moved(clause: Clause, by: int) -> Clause:
    """Return the clause with its positions in the answer moved `by` characters to the right."""
    words = tuple(replace(word, source_end=word.source_end + by) for word in clause.words)
    return replace(clause, words=words)


def is_consent(text: str) -> bool:
    """Return whether English words do nothing but consent.

    >>> is_consent("Sure thing!"), is_consent("Okay, so"), is_consent("Sure, the bus is late.")
    (True, False, False)
    """
    words = _words(text)
    return bool(words) and words_of("words", "consent").issuperset(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _length(text: str) -> int:
    return len(text.split())
