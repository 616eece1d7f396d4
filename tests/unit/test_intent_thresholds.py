"""The choice of the thresholds of the classifier of intents."""

import numpy as np

from assistant.intents.command import CommandKind
from assistant.intents.intent_recogniser import NEVER
from scripts.eval.intent_thresholds import ASKED_WRONGLY, PRECISION, thresholds


def test_thresholds_keep_talk_out_and_what_is_wrong_unsure() -> None:
    chance = np.random.default_rng(5)
    labels = np.repeat([0, 1, -1], 200)
    score = np.concatenate([chance.uniform(0.4, 1, 400), chance.uniform(0, 0.8, 200)])
    kinds = np.concatenate([np.zeros(200, int), np.ones(200, int), chance.integers(0, 2, 200)])
    probabilities = np.zeros((600, 2))
    probabilities[np.arange(600), kinds] = score
    talk = np.tile([0.0, 0.1], (4000, 1))
    talk[:20] = [0.0, 0.65]
    other = np.tile([0.05, 0.0], (500, 1))

    names = (CommandKind.STOP, CommandKind.WAKE)
    stop, wake = thresholds(probabilities, labels, [talk, other], [False, False], names)

    assert stop.asked < 0.5
    assert wake.asked > 0.65
    assert (talk[:, 1] >= wake.asked).mean() <= ASKED_WRONGLY
    for kind, chosen in enumerate((stop, wake)):
        assert chosen.asked <= chosen.sure < NEVER
        done = (kinds == kind) & (score >= chosen.sure)
        assert (labels[done] == kind).mean() >= PRECISION


def test_deleting_is_never_sure() -> None:
    probabilities, labels = np.full((9, 1), 0.99), np.zeros(9, int)
    [chosen] = thresholds(probabilities, labels, [], [], (CommandKind.FORGET_ALL,))
    assert (chosen.sure, chosen.doubted) == (NEVER, 0.5)
