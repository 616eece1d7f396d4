"""Chooses the thresholds of the classifier of intents."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.intents.command import BY_MEANING, DELETING, PERIODS, CommandKind
from assistant.intents.intent_recogniser import NEVER, THRESHOLDS, Threshold
from models.interfaces import IntentClassifier
from scripts.common.utterances import KINDS, read_dev
from scripts.eval.intents import EVERYDAY, loaded_classifier, sets_of_talk

Array = NDArray[np.float64]
"""Unless stated otherwise, probabilities of all kinds of commands, shape (utterances, kinds)."""
Numbers = NDArray[np.int64]
"""The kind of each utterance, as its index among all kinds; -1 for no command."""

STEPS = np.round(np.arange(0.3, 1.0, 0.01), 2)
"""Thresholds to choose from."""
LEAST_SURE = 0.9
"""Below this threshold, nothing is carried out without asking. Some fifty commands of a kind are
too few to see whether one in two hundred is mistaken."""
ANSWERING = frozenset({CommandKind.TIME, CommandKind.DATE, CommandKind.CALCULATE})
"""Kinds that change nothing. A mistaken answer does less harm than a question."""
PRECISION = 0.995
"""Minimum share of rightly recognised commands among the commands carried out without asking."""
ASKED_WRONGLY = 1 / 700
"""Maximum share of any set of talk that may be taken for a command. One in 500 would be acceptable;
the limit is lower because a user's talk differs from these sets."""
SLACK = 0.02
"""Amount by which a threshold exceeds the lowest sufficient one, since other utterances differ."""


def choose(locomo: Path | None) -> dict[CommandKind, Threshold]:
    """Choose the thresholds on the part `dev` and on everyday talk, with the classifier in use.

    Raises:
        ModelError: the classifier is missing or damaged.
        InputUnusable: a file can't be read.
    """
    classifier = loaded_classifier()
    dev = read_dev()
    labels = np.array([KINDS.index(each.kind) if each.kind else -1 for each in dev])
    sets = sets_of_talk(locomo, None)
    talk = [_probabilities(classifier, texts) for texts in sets.values()]
    asks = [name == EVERYDAY for name in sets]
    found = thresholds(_probabilities(classifier, [each.said for each in dev]), labels, talk, asks)
    return dict(zip(KINDS, found, strict=True)) | {kind: THRESHOLDS[kind] for kind in PERIODS}


def thresholds(
    probabilities: Array,
    labels: Numbers,
    talk: Sequence[Array],
    asks: Sequence[bool],
    kinds: Sequence[CommandKind] = KINDS,
) -> list[Threshold]:
    """The thresholds of each kind of command.

    On all sets together, at least the share `PRECISION` of what is carried out would have been
    right. The thresholds for asking are so low that few commands are missed, but high enough that
    at most `ASKED_WRONGLY` of each set of talk is taken for a command. Deleting is never carried
    out on the classifier's word alone.

    Args:
        asks: for each set of talk, whether many of its utterances ask a skill for something. The
            thresholds of requests to skills ignore such a set.
    """
    of_kind, best = _likeliest(probabilities)
    of_talk = [_likeliest(each) for each in talk]
    missed, wrong = [], []
    for kind in range(len(kinds)):
        own = best[(of_kind == kind) & (labels == kind)]
        missed.append(1 - _reached(own) / max(1, int((labels == kind).sum())))
        counted = [not (asking and kinds[kind] in BY_MEANING) for asking in asks]
        shares = [
            _reached(high[of == kind]) / len(of) * counts
            for (of, high), counts in zip(of_talk, counted, strict=True)
        ]
        wrong.append(np.reshape(shares, (len(talk), len(STEPS))))
    asked = _cheapest(np.array(missed), np.array(wrong))
    found = []
    for kind, name in enumerate(kinds):
        scores = [best[of_kind == kind]]
        for (of, high), asking in zip(of_talk, asks, strict=True):
            if not (asking and name in BY_MEANING):
                scores.append(high[of == kind])
        right = labels[of_kind == kind] == kind
        none = np.zeros(sum(map(len, scores)) - len(right), bool)
        sure = _surely(np.concatenate(scores), np.concatenate([right, none]))
        sure = LEAST_SURE if name in ANSWERING else sure
        sure = NEVER if name in DELETING else max(sure, asked[kind])
        found.append(Threshold(sure, asked[kind], THRESHOLDS[name].doubted))
    return found


def _probabilities(classifier: IntentClassifier, texts: Sequence[str]) -> Array:
    found = (classifier.classify(text).probabilities for text in texts)
    return np.array([[each.get(kind, 0.0) for kind in KINDS] for each in found])


def _likeliest(probabilities: Array) -> tuple[Numbers, Array]:
    return probabilities.argmax(axis=1), probabilities.max(axis=1)


def _reached(scores: Array) -> Array:
    """How many scores reach each threshold in `STEPS`."""
    return np.asarray((scores[:, None] >= STEPS).sum(axis=0), np.float64)


def _cheapest(missed: Array, wrong: Array) -> list[float]:
    """One threshold for each kind, so that the sum of missed shares is lowest.

    The cost of wrong questions is raised until each set has few enough of them.

    Args:
        missed: the share of each kind's commands missed at each threshold, shape (kinds,
            thresholds).
        wrong: the share of each set taken for each kind, shape (kinds, sets, thresholds).
    """
    kinds = np.arange(len(missed))
    chosen = np.full(len(missed), len(STEPS) - 1)
    for price in np.geomspace(0.1, 1e5, 400):
        chosen = (missed + price * wrong.sum(axis=1)).argmin(axis=1)
        if wrong[kinds, :, chosen].sum(axis=0).max(initial=0) <= ASKED_WRONGLY:
            break
    return [float(STEPS[each]) for each in chosen]


def _surely(scores: Array, right: NDArray[np.bool_]) -> float:
    """The lowest threshold above which nearly all are right, plus some slack."""
    for step in STEPS:
        above = right[scores >= step]
        if above.size and above.mean() >= PRECISION:
            return max(LEAST_SURE, round(min(float(step) + SLACK, float(STEPS[-1])), 2))
    return NEVER
