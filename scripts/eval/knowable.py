"""Measures how well the assistant recognises questions that it can't answer."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assistant.intents.intent_recogniser import UNKNOWABLE, is_classified, is_unknowable
from assistant.intents.recogniser import recognise
from data import located
from models.encoder.intents import KNOWABLE
from models.interfaces import IntentClassifier
from scripts.common.knowable import EVALUATION as QUESTIONS
from scripts.common.knowable import Labelled, read_labelled
from scripts.common.utterances import EVALUATION, REQUESTS, read_utterances
from scripts.eval.commands import NAMES, share
from scripts.eval.intents import loaded_classifier, with_classifier

ACT = "act"
"""Tag of utterances that ask for an act, such as looking up the weather, and so are not talk."""
STEPS = (0.5, 0.6, 0.7, 0.8, 0.82, 0.85, 0.9, 0.95)
"""Thresholds to choose from."""

CannotKnow = Callable[[str], bool]


class Scored(NamedTuple):
    """An utterance, the probability that what it asks for can't be known, and whether it reaches
    the language model."""

    said: Labelled
    unknowable: float
    passed: bool


def by_classifier(classifier: IntentClassifier) -> CannotKnow:
    """Makes a function that says whether the product would tell the language model that the
    assistant can't know what it is asked. What the grammar recognises isn't classified."""

    def cannot_know(text: str) -> bool:
        asked = is_classified(recognise(text, NAMES))
        return asked and is_unknowable(classifier.classify(text))

    return cannot_know


def talk(part: str) -> list[str]:
    """The talk in a part of both sets of commands and requests. Raises InputUnusable."""
    return [
        each.said
        for name in (EVALUATION, REQUESTS)
        for each in read_utterances(located(name), part)
        if each.kind is None and each.tag != ACT
    ]


def measured(part: str) -> dict[str, Any]:
    """All figures on a part of the evaluation set, and on the talk of the same part.

    Raises:
        ModelError: the classifier is missing or damaged.
        InputUnusable: a file can't be read.
    """
    classifier = loaded_classifier()
    understand = with_classifier(classifier)
    labelled = read_labelled(located(QUESTIONS), part)
    everyday = [Labelled(text, KNOWABLE[0]) for text in talk(part)]
    asked, talked = (
        [
            Scored(each, classifier.classify(each.said).unknowable, understand(each.said) is None)
            for each in some
        ]
        for some in (labelled, everyday)
    )
    return {
        "part": part,
        "threshold": UNKNOWABLE,
        **figures(asked, talked, UNKNOWABLE),
        "steps": {str(least): figures(asked, talked, least) for least in STEPS},
        "wrong": [
            f"{each.unknowable:.2f} {each.said.label}: {each.said.said}"
            for each in (*asked, *talked)
            if (each.unknowable >= UNKNOWABLE) is not each.said.unknowable
        ],
    }


def figures(asked: Sequence[Scored], talked: Sequence[Scored], least: float) -> dict[str, Any]:
    """What a threshold finds: the shares of questions that can't be known, by class, and the share
    of other utterances and of talk that are taken for such questions.

    `passed` is the share of the questions found that reach the language model; all others are
    taken for commands.
    """
    found: dict[str, Any] = {}
    for label in KNOWABLE:
        some = [each for each in asked if each.said.label == label]
        found[label] = share(sum(each.unknowable >= least for each in some), len(some))
    right = [each for each in asked if each.said.unknowable]
    hits = [each for each in right if each.unknowable >= least]
    wrong = sum(each.unknowable >= least for each in talked)
    return found | {
        "recall": share(len(hits), len(right)),
        "passed": share(sum(each.passed for each in hits), len(hits)),
        "talk": len(talked),
        "talk_taken": wrong,
        "talk_share": share(wrong, len(talked)),
    }
