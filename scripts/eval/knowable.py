"""Measures how well the assistant recognises questions that it can't answer."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assistant.context import NotKnown
from assistant.context.not_known import applicable
from assistant.intents.intent_recogniser import TOLD, UNKNOWABLE, is_classified, not_known
from assistant.intents.recogniser import recognise
from data import located
from models.encoder.intents import KNOWABLE
from models.interfaces import IntentClassifier
from scripts.common.knowable import EVALUATION as QUESTIONS
from scripts.common.knowable import Labelled, read_labelled
from scripts.common.utterances import EVALUATION, REQUESTS, read_utterances
from scripts.eval.answer_data import read_people
from scripts.eval.commands import NAMES, share
from scripts.eval.intents import OnceClassifier, loaded_classifier, with_classifier

ACT = "act"
"""Tag of utterances that ask for an act, such as looking up the weather, and so are not talk."""
STEPS = (0.5, 0.6, 0.7, 0.8, 0.82, 0.85, 0.9, 0.95)
"""Thresholds to choose from."""

CannotKnow = Callable[[str], NotKnown | None]
"""Decides, as `not_known` does, whether the words ask for something that the assistant can't
know."""


class Scored(NamedTuple):
    """An utterance. `unknowable` is the probability that the assistant can't know the answer.
    `passed` is set if the utterance isn't taken for a command. `fixed` is set if it also gets a
    fixed reply when the assistant remembers nothing."""

    said: Labelled
    unknowable: float
    passed: bool
    fixed: bool = False


def by_classifier(classifier: IntentClassifier) -> CannotKnow:
    """Makes a function that decides, as the product does, whether the assistant can't know what is
    asked. Commands that the grammar recognises aren't classified."""

    def cannot_know(text: str) -> NotKnown | None:
        asked = is_classified(recognise(text, NAMES))
        return not_known(text, classifier.classify(text)) if asked else None

    return cannot_know


def talk(part: str) -> list[str]:
    """The talk in a part of the sets of commands and of requests. Raises InputUnusable: a set can't
    be read."""
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
    classifier = OnceClassifier(loaded_classifier())
    understand = with_classifier(classifier)
    labelled = read_labelled(located(QUESTIONS), part)
    everyday = [Labelled(text, KNOWABLE[0]) for text in talk(part)]
    known = [each.said for each in (*labelled, *everyday) if not each.unknowable]

    def scored(each: Labelled) -> Scored:
        found, passed = classifier.classify(each.said), understand(each.said) is None
        asked = applicable(not_known(each.said, found), each.said, (), "en")
        return Scored(each, found.unknowable, passed, passed and bool(asked and asked.reply))

    asked, talked = ([scored(each) for each in some] for some in (labelled, everyday))
    return {
        "part": part,
        "threshold": UNKNOWABLE,
        **figures(asked, talked, UNKNOWABLE),
        **fixed_replies(asked, talked),
        "told": told_figures(classifier, part, known),
        "steps": {str(least): figures(asked, talked, least) for least in STEPS},
        "wrong": [
            f"{each.unknowable:.2f} {each.said.label}: {each.said.said}"
            for each in (*asked, *talked)
            if (each.unknowable >= UNKNOWABLE) is not each.said.unknowable
        ],
    }


def figures(asked: Sequence[Scored], talked: Sequence[Scored], least: float) -> dict[str, Any]:
    """The share of each class, and of talk, that a threshold takes for unanswerable questions.
    `recall` is the share of all unanswerable questions that are recognised.

    `passed` is the share of the recognised questions that are not taken for commands.
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


def told_figures(
    classifier: IntentClassifier, part: str, known: Sequence[str]
) -> dict[str, float | None]:
    """How many utterances are taken for questions about the user's own life: the share of the real
    ones in a part of `answer_memories.jsonl`, and of utterances that ask for nothing unknown."""
    own = [each.question for person in read_people(part) for each in person.questions]

    def taken(texts: Sequence[str]) -> float | None:
        return share(sum(classifier.classify(each).told >= TOLD for each in texts), len(texts))

    return {"memories": taken(own), "known": taken(known)}


def fixed_replies(asked: Sequence[Scored], talked: Sequence[Scored]) -> dict[str, Any]:
    """The share of questions of each class, and the number of utterances of talk, that get a fixed
    reply."""
    labels = [each.said.label for each in asked if each.fixed]
    all_of = [each.said.label for each in asked]
    of_classes = {each: share(labels.count(each), all_of.count(each)) for each in KNOWABLE}
    talk_fixed = sum(each.fixed for each in talked)
    return {"fixed": of_classes, "talk_fixed": talk_fixed}
