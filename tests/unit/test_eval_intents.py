"""The evaluation of intents counts what is done, asked and found as it says."""

from pathlib import Path
from typing import Any

import pytest

from assistant.intents.command import BY_MEANING, Command, CommandKind, Intent
from data import located
from scripts.common.rows import InputUnusable
from scripts.common.utterances import (
    BY_HAND,
    EVALUATION,
    KINDS,
    PARTS,
    REQUESTS,
    TRAINING,
    Utterance,
    read_utterances,
)
from scripts.eval.intents import Understood, figures, on_talk, sets_of_talk
from scripts.eval_commands import main

THAT, STOP = CommandKind.FORGET_THAT, CommandKind.STOP

LEAST = {"natural": 200, "dev2": 170, "fresh": 340} | dict.fromkeys(("dev", "test", "final"), 900)
"""Fewer commands than each part has."""


def understood(
    wanted: CommandKind | None, got: CommandKind | None, *, sure: bool = True, clear: bool = True
) -> Understood:
    intent = Intent(Command(got), sure) if got else None
    return Understood(Utterance("", wanted, sure=clear), intent)


def test_what_is_asked_counts_as_found_but_not_as_done() -> None:
    found = figures(
        [
            understood(THAT, THAT),
            understood(THAT, THAT, sure=False),
            understood(THAT, STOP),
            understood(STOP, THAT),
            understood(STOP, None, clear=False),
            understood(None, STOP, sure=False),
            understood(None, None),
        ]
    )

    assert (found["done"], found["done_precision"]) == (3, round(1 / 3, 4))
    assert (found["deleted"], found["deleted_precision"]) == (2, 0.5)
    assert (found["commands"], found["found"]) == (5, 0.4)
    assert (found["sure_commands"], found["sure_found"], found["sure_done"]) == (4, 0.5, 0.25)
    assert (found["others"], found["taken"]) == (2, 0.5)


def test_nothing_has_no_share() -> None:
    assert figures([understood(None, None)])["done_precision"] is None


@pytest.mark.parametrize(
    ("command", "words", "right"),
    [
        (Command(CommandKind.FORGET_SPAN, minutes=10), "the last ten minutes", True),
        (Command(CommandKind.FORGET_SPAN, minutes=60), "the last ten minutes", False),
        (Command(CommandKind.FORGET_TODAY), "today", True),
        (Command(CommandKind.FORGET_TODAY), "the last hour", False),
        (Command(CommandKind.FORGET_PERIOD, "Since lunch"), "since lunch,", True),
        (Command(CommandKind.FORGET_PERIOD, "lunch"), "since lunch", False),
    ],
)
def test_a_period_may_be_read_as_minutes(command: Command, words: str, right: bool) -> None:
    wanted = Utterance(f"Forget {words}.", CommandKind.FORGET_PERIOD, words)
    each = Understood(wanted, Intent(command))

    assert each.right
    assert each.right_argument is right
    assert figures([each])["arguments"] == float(right)


@pytest.mark.parametrize(
    ("kind", "slot", "got", "wanted", "right"),
    [
        (CommandKind.ALARM_SET, "when", "at seven on Friday", "seven on friday", True),
        (CommandKind.ALARM_SET, "when", "at seven", "seven on Friday", False),
        (CommandKind.REMINDER_SET, "when", "seven", "seven in the evening", False),
        (CommandKind.TIMER_SET, "when", "for ten minutes", "ten minutes", True),
        (CommandKind.TIMER_SET, "when", "for twelve minutes", "ten minutes", False),
        (CommandKind.TIMER_SET, "when", "10 minutes", "ten minutes", True),
        (CommandKind.TIMER_SET, "name", "the rice", "rice", True),
        (CommandKind.TIMER_SET, "name", "", "rice", False),
        (CommandKind.FORGET_PERIOD, "words", "on Tuesday", "Tuesday", True),
        (CommandKind.FORGET_PERIOD, "words", "Tuesday", "Wednesday", False),
        (CommandKind.LIST_ADD, "words", "the milk", "milk", False),
        (CommandKind.LIST_ADD, "name", "groceries list", "grocery", True),
    ],
)
def test_an_argument_may_be_other_words_that_a_skill_reads_in_the_same_way(
    kind: CommandKind, slot: str, got: str, wanted: str, right: bool
) -> None:
    arguments: dict[str, Any] = {slot: wanted or None}
    got_arguments: dict[str, Any] = {slot: got or None}
    each = Understood(
        Utterance(f"Do it {wanted}.", kind, **arguments),
        Intent(Command(kind, **got_arguments)),
    )
    assert each.right_argument is right


def test_mistakes_on_talk_are_counted_per_500() -> None:
    def understand(text: str) -> Intent | None:
        return None if text == "hello" else Intent(Command(STOP), sure=text == "stop")

    found = on_talk(understand, ["hello"] * 997 + ["stop", "halt", "halt"])

    assert (found["done"], found["asked"]) == (1, 2)
    assert (found["done_per_500"], found["asked_per_500"]) == (0.5, 1.0)


def test_all_sets_are_labelled_rightly() -> None:
    assert len(read_utterances(located(TRAINING))) > 10_000
    assert len(read_utterances(located(BY_HAND))) == 3355
    for part in PARTS:
        found = read_utterances(located(EVALUATION), part)
        assert {each.kind for each in found} == {None, *set(KINDS) - BY_MEANING}
        assert sum(each.kind is not None for each in found) > LEAST[part]
    for part in ("dev", "dev2", "test", "fresh"):
        found = read_utterances(located(REQUESTS), part)
        assert {each.kind for each in found} == {None, *BY_MEANING}
        assert sum(each.kind is not None for each in found) > 160


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[]",
        '{"said": "Stop."}',
        '{"said": " ", "kind": "stop"}',
        '{"said": 3, "kind": "stop"}',
        '{"said": "Stop.", "kind": "halt"}',
        '{"said": "Forget Max.", "kind": "forget_about", "words": "max"}',
        '{"said": "Forget Max.", "kind": "forget_about", "words": 3}',
    ],
)
def test_a_wrong_line_is_reported(tmp_path: Path, line: str) -> None:
    file = tmp_path / "intents.jsonl"
    file.write_text(f'{{"said": "Stop.", "kind": "stop"}}\n{line}\n', encoding="utf-8")

    with pytest.raises(InputUnusable, match=r"Line 2 of .*intents\.jsonl"):
        read_utterances(file)


def test_a_part_without_utterances_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "intents.jsonl"
    file.write_text('{"said": "Stop.", "kind": "stop", "part": "dev"}\n', encoding="utf-8")

    with pytest.raises(InputUnusable, match="no utterances of part test"):
        read_utterances(file, "test")


def test_conversations_and_read_speech_are_added_to_the_talk(tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_text(
        '{"file": "a.flac", "text": "Hello there."}\n{"file": "b.flac"}\n', encoding="utf-8"
    )
    found = sets_of_talk(None, tmp_path)

    assert len(found["everyday"]) == 6354
    assert found["read"] == ["Hello there."]


def test_unusable_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--locomo"], ["--speech"]):
        assert main([*wrong, str(tmp_path / "none")]) == InputUnusable.exit_code
        assert "can't be read" in capsys.readouterr().err


def test_mistakes_of_kept_back_parts_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--part", "test", "--mistakes"]) == InputUnusable.exit_code
    assert "dev and dev2 only" in capsys.readouterr().err
