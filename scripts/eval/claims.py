"""Counts how often a language model claims an act that nobody did, and how many of these claims get
past the check of answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assistant.voice.answer_check import ENDINGS, NOT_DONE, AnswerCheck
from assistant.voice.claims import ACTS, CLAIM, THRESHOLDS, ClaimDetector, is_own
from assistant.voice.speech.clauses import clauses_of
from scripts.eval.asking import Answers, language_model
from scripts.eval.claim_answers import PARTS, Answered, ask, read_prompts
from scripts.eval.claim_patterns import claims_act
from scripts.eval.commands import share
from scripts.eval.intents import OnceClassifier, loaded_classifier, with_classifier
from scripts.eval.knowable import by_classifier

LANGUAGE = "en"
STEPS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
"""Thresholds to choose from."""


class Remembered(OnceClassifier):
    """Judges prompts and the clauses of answers, which recur."""

    def request(self, text: str) -> float:
        """The probability that a prompt asks for an act."""
        found = self.classify(text).probabilities
        return sum(found.get(kind, 0.0) for kind in ACTS)

    def claim(self, text: str) -> float:
        """The probability that words of an answer claim an act."""
        return self.classify(text).probabilities.get(CLAIM, 0.0)


class Sentence(NamedTuple):
    """A sentence of an answer. It is judged after each of its clauses; `score` is the highest
    probability that it claims an act."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Checked:
    """A model's answer before the check (`text`) and after it (`spoken`).

    Attributes:
        asked: the probability that the prompt asks for an act.
    """

    answered: Answered
    text: str
    spoken: str
    asked: float
    sentences: tuple[Sentence, ...] = ()

    @property
    def is_request(self) -> bool:
        return self.answered.prompt.kind is not None

    @property
    def claims(self) -> bool:
        """Whether the model claims an act."""
        return claimed(self.text)

    @property
    def cut(self) -> bool:
        return self.spoken.endswith(NOT_DONE) and not self.text.endswith(NOT_DONE)

    @property
    def remains(self) -> bool:
        """Whether a claim is spoken and not taken back."""
        return not self.cut and claimed(self.spoken)

    @property
    def taken_back(self) -> bool:
        """Whether part of a claim was spoken before the claim was recognised."""
        return self.cut and claimed(self.spoken)


class Counts(NamedTuple):
    """What a threshold does to some sentences.

    Attributes:
        claims: number of claims in answers to requests.
        remain: number of these claims that are not cut.
        honest_cut: number of other sentences in answers to requests that are cut.
        ordinary_cut: number of sentences in answers to ordinary prompts that are cut.
    """

    claims: int
    remain: int
    honest_cut: int
    ordinary_cut: int


def sentences_in(text: str) -> list[list[str]]:
    """The sentences of an answer, each as a list of clauses as they are read aloud."""
    found: list[list[str]] = [[]]
    for clause in clauses_of(text, LANGUAGE):
        found[-1].append(clause.spoken)
        if clause.spoken.endswith(ENDINGS):
            found.append([])
    return [each for each in found if each]


def claimed(text: str) -> bool:
    """Whether a sentence of the text claims an act."""
    return any(claims_act(" ".join(sentence)) for sentence in sentences_in(text))


async def check(answered: Answered, classifier: Remembered, detector: ClaimDetector) -> Checked:
    """Let the product check an answer.

    Args:
        classifier: the detector's classifier.
    """
    prompt, text = answered.prompt.said, answered.text or ""
    asked = classifier.request(prompt)
    sentences = tuple(
        Sentence(" ".join(each), max(classifier.claim(" ".join(each[:end])) for end in ends))
        for each in sentences_in(text)
        if (ends := range(1, len(each) + 1))
    )
    checking = AnswerCheck(detector, LANGUAGE, prompt)
    pieces = [*await checking.feed(text), *await checking.finish()]
    spoken = "".join(piece.text for piece in pieces)
    return Checked(answered, text, spoken, asked, sentences)


async def measured(model: str, file: Path | None, threads: int) -> list[Checked]:
    """Ask a language model all prompts, and check its answers. Prompts that a skill or a fixed
    reply answers are left out.

    Args:
        file: stores the answers, so that the model is asked only once.

    Raises:
        ModelError: a model is missing or fails.
        InputUnusable: the prompts can't be read.
    """
    classifier = Remembered(loaded_classifier())
    detector = ClaimDetector(classifier, deadline_s=math.inf)  # so that load has no effect
    try:
        async with language_model(model, threads, adapted=True) as llm:
            answers = Answers(file)
            understand, cannot_know = with_classifier(classifier), by_classifier(classifier)
            found = await ask(llm, read_prompts(), understand, answers, cannot_know)
        return [await check(each, classifier, detector) for each in found if each.text is not None]
    finally:
        detector.close()


def figures(checked: Sequence[Checked]) -> dict[str, Any]:
    """The numbers of claims, of claims that remain, and of honest answers that were cut, for each
    part.

    `remain` counts answers with a claim that is spoken and not taken back. `taken_back` counts
    answers with a claim that was partly spoken before it was recognised. `honest_cut` counts
    answers to requests that were cut but claim nothing. `ordinary_cut` counts answers to ordinary
    prompts that were cut.
    """
    found: dict[str, Any] = {}
    for part in PARTS:
        some = [each for each in checked if each.answered.prompt.part == part]
        requests = [each for each in some if each.is_request]
        ordinary = [each for each in some if not each.is_request]
        found[part] = {
            "requests": len(requests),
            "claims": sum(each.claims for each in requests),
            "remain": sum(each.remains for each in requests),
            "taken_back": sum(each.taken_back for each in requests),
            "honest_cut": sum(each.cut and not each.claims for each in requests),
            "ordinary": len(ordinary),
            "ordinary_cut": sum(each.cut for each in ordinary),
            "ordinary_cut_share": share(sum(each.cut for each in ordinary), len(ordinary)),
        }
    return found


def counts(checked: Sequence[Checked], least: float, *, own: bool) -> Counts:
    """What a threshold does to the sentences in the first person, or to all others."""
    found = [
        (each.is_request, claims_act(sentence.text), sentence.score >= least)
        for each in checked
        for sentence in each.sentences
        if is_own(sentence.text) is own
    ]
    return Counts(
        sum(request and claims for request, claims, _ in found),
        sum(request and claims and not cut for request, claims, cut in found),
        sum(request and not claims and cut for request, claims, cut in found),
        sum(not request and cut for request, _, cut in found),
    )


def by_likelihood(
    checked: Sequence[Checked],
) -> Mapping[tuple[float, bool], Mapping[float, Counts]]:
    """What each threshold does on the part `dev`. An outer key has two parts: the lower end of a
    range of the probability that the prompt asks for an act, and whether sentences in the first
    person are counted (True) or all others. The inner keys are the thresholds."""
    dev = [each for each in checked if each.answered.prompt.part == PARTS[0]]
    found, below = {}, float("inf")
    for likely, *_ in THRESHOLDS:
        some = [each for each in dev if likely <= each.asked < below]
        for own in (True, False):
            found[likely, own] = {least: counts(some, least, own=own) for least in STEPS}
        below = likely
    return found


def shown(each: Checked) -> str:
    """An answer for a person to judge."""
    marks = {
        "claims": each.claims,
        "remains": each.remains,
        "taken back": each.taken_back,
        "cut": each.cut,
    }
    told = ", ".join(name for name, holds in marks.items() if holds)
    prompt = each.answered.prompt
    best = max((sentence.score for sentence in each.sentences), default=0.0)
    head = f"[{prompt.part} {prompt.kind or 'talk'} {each.asked:.3f}] {prompt.said}"
    return f"{head}\n    {each.text!r}\n    {best:.3f} {told}"
