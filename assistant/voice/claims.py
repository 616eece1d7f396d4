"""Detects when the language model claims an act that only a skill could have done.

The language model sometimes says "I've set a timer" or "I'll remind you", although it can do
nothing but talk. Skills say in their own replies what they have done. So every such claim of the
model is false.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from assistant.intents import ABOUT_OPEN, BY_MEANING, CommandKind
from assistant.language.word_lists import words_of
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
        request: minimum probability of a request at which this threshold applies.
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
DEADLINE_S = 0.1
"""Seconds that a verdict of the classifier may take. Normally it takes a few milliseconds."""
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


def is_consent(text: str) -> bool:
    """Return whether English words do nothing but consent.

    >>> is_consent("Sure thing!"), is_consent("Okay, so"), is_consent("Sure, the bus is late.")
    (True, False, False)
    """
    words = _words(text)
    return bool(words) and words_of("words", "consent").issuperset(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
