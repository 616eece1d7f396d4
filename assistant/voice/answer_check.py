"""Checks an answer before it is spoken, shown and stored, and ends it early if necessary."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, replace

from assistant.voice.claims import LIKELY_REQUEST, ClaimDetector, is_claim, is_consent
from assistant.voice.speech.clauses import Clause, ClauseSplitter, clauses_of
from models.interfaces import ClassifiedText

LONGEST = 40
"""Maximum number of words that are judged together. The first clauses of a longer sentence are left
out."""
LEAST_REPEATED = 8
"""The answer is ended if two or more consecutive sentences, all said twice before, have this many
words. Shorter ones may be meant, as in "No. No. No."."""
NOT_DONE = "I haven't done that. Try saying it another way, or ask what I can do."
"""Said in place of an answer's first claim and everything after it. It is true whether the act is
impossible or the request was merely not recognised."""
NOT_ANSWERED = "I don't know."
"""Said in place of an answer that begins with a bracket: very small models read out the bracketed
lines of their prompt, above all the line for questions that can't be answered."""
ENDINGS = (".", "!", "?", ":")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The next piece of an answer's text that may be spoken, and its clauses."""

    text: str
    clauses: tuple[Clause, ...]


class AnswerCheck:
    """Checks one answer while it is being written, clause by clause. Each clause is judged together
    with the beginning of its sentence; until then, its text is held. This doesn't delay speech,
    which waits for the end of a clause anyway.

    The answer is ended when it is about to claim an act, begins by reading out a line of the
    prompt, or repeats several of its sentences, as small models do when they loop.

    If the user has probably asked for an act, an answer's first words of consent ("Sure!") also
    wait for the next clause, because by themselves they are a promise.

    Args:
        detector: judges requests and claims. If None, nothing counts as a request or a claim.
        language: the setting `persona.language`.
        asked: the user's words.
        pending: the probability that an earlier turn asked for an act, if the assistant replied
            with a question.
        classified: the classifier's result for the user's words, if it was asked already.
    """

    def __init__(
        self,
        detector: ClaimDetector | None,
        language: str,
        asked: str = "",
        pending: float = 0.0,
        classified: ClassifiedText | None = None,
    ) -> None:
        self._detector = detector
        self._language = language
        self._splitter = ClauseSplitter(language)
        self._request = (
            asyncio.create_task(detector.request(asked, classified)) if detector else None
        )
        self._pending = pending
        self._sentence: list[str] = []
        """The clauses of the incomplete sentence, in the form in which they are spoken."""
        self._said = Counter[str]()
        """How often each complete sentence was said."""
        self._repeated: list[str] = []
        """The newest sentences, if they were said twice before."""
        self._consent: list[Clause] = []
        """The answer's first clauses, if they only consent."""
        self._held = ""
        self._released = ""
        """The text that was returned."""
        self.ended = False
        """Whether the answer was ended early."""

    async def request(self) -> float:
        """Return the probability that the user has asked for an act, in this turn or before."""
        return max(self._pending, await self._request) if self._request is not None else 0.0

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
        clauses = clauses_of(self._held, self._language)
        moved = tuple(_moved(clause, len(self._released)) for clause in clauses)
        return self._release(len(self._held), moved)

    async def _checked(self, clauses: list[Clause]) -> list[CheckedText]:
        checked: list[CheckedText] = []
        for clause in clauses:
            begins = not self._released and self._language.startswith("en")  # like the prompt
            if begins and self._held.lstrip().startswith("("):
                self.ended = True
                return [*checked, self.end_with(NOT_ANSWERED)]
            self._sentence.append(clause.spoken)
            if await self._claims():
                return [*checked, self._refuse()]
            whole, circle = len(self._sentence) == 1, self._goes_round()
            if circle and whole:  # otherwise, its beginning has been spoken
                return [*checked, *self._stop()]
            self._consent.append(clause)
            if not self._released and is_consent(clause.spoken) and await self._asked_for_act():
                continue
            end = max(word.source_end for word in clause.words) - len(self._released)
            checked.append(self._release(end, tuple(self._consent)))
            self._consent.clear()
            if circle:
                return [*checked, *self._stop()]
        return checked

    def _stop(self) -> list[CheckedText]:
        """End the answer here. Held consent is replaced by a refusal."""
        self.ended, self._held = True, ""
        return [self._refuse()] if self._consent else []

    async def _claims(self) -> bool:
        """Whether the sentence up to the end of its newest clause claims an act."""
        if self._detector is None:
            return False
        judged = self._sentence[:]
        while len(judged) > 1 and sum(map(_length, judged)) > LONGEST:
            judged.pop(0)
        text = " ".join(judged)
        return is_claim(text, await self._detector.claim(text), await self.request())

    def _goes_round(self) -> bool:
        """Whether the newest sentence is complete and, like the previous one, was said twice
        already. Together, such sentences must have `LEAST_REPEATED` words."""
        if not self._sentence[-1].endswith(ENDINGS):
            return False
        sentence = " ".join(_WORD.findall(" ".join(self._sentence).casefold()))
        self._sentence.clear()
        self._repeated = [*self._repeated, sentence] if self._said[sentence] > 1 else []
        self._said[sentence] += 1
        long = sum(map(_length, self._repeated)) >= LEAST_REPEATED
        return long and len(self._repeated) > 1

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


def _length(text: str) -> int:
    return len(text.split())
