"""The recogniser of spoken commands, on all of the project's utterances."""

import json

import pytest

from assistant.intents.command import Command, CommandKind
from scripts.eval.commands import Judged, quality
from scripts.eval_commands import main

HELD_OUT = "e"
"""The part of the utterances that was written after the recogniser's last change."""


def test_commands_are_distinguished_from_ordinary_talk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grammar", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])

    assert found["overall"]["commands"] >= 300
    assert found["overall"]["others"] >= 1000
    for figures in (found["overall"], found["parts"][HELD_OUT]):
        assert figures["commands"] >= 110
        assert figures["others"] >= 340
        assert figures["precision"] >= 0.99
        assert figures["recall"] >= 0.97
        assert figures["arguments"] >= 0.97
    assert set(found["kinds"]) < {kind.value for kind in CommandKind}


def test_a_command_mistaken_for_another_lowers_both_precision_and_recall() -> None:
    that, all_ = Command(CommandKind.FORGET_THAT), Command(CommandKind.FORGET_ALL)
    judged = [
        Judged("a", "", that, that),
        Judged("a", "", that, all_),
        Judged("a", "", None, None),
        Judged("a", "", None, that),
        Judged("a", "", that, None),
    ]

    figures = quality(judged)

    assert (figures["precision"], figures["recall"]) == (round(1 / 3, 4), round(1 / 3, 4))
    assert quality(judged, "forget_all")["precision"] == 0.0


def test_a_wrong_topic_lowers_the_score_of_arguments() -> None:
    dog, cat = (Command(CommandKind.FORGET_ABOUT, words=name) for name in ("my dog", "my cat"))

    figures = quality([Judged("a", "", dog, dog), Judged("a", "", dog, cat)])

    assert (figures["recall"], figures["arguments"]) == (1.0, 0.5)
